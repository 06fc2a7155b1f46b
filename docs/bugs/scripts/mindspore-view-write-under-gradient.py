import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def before(x):
    y = x * 1.0
    part = y[0:2]
    y[0] = 0.0
    return part.sum()


def after(x):
    y = x * 1.0
    column = y.reshape((3, 1))
    column[0] = 0.0
    return y.sum()


def viewed(x):
    y = x * 1.0
    column = y.view(3, 1)
    column[0] = 0.0
    return y.sum()


x = Tensor(np.ones(3, np.float32))
wrong = []
for function in (before, after, viewed):
    plain = float(function(x).asnumpy())
    value, gradient = ms.value_and_grad(function)(x)
    value, gradient = float(value.asnumpy()), gradient.asnumpy()
    print(f"{function.__name__}: {plain}, by value_and_grad: {value}, gradient: {gradient}")
    if plain != value:
        wrong.append(f"{function.__name__}: {value} in place of {plain}")
assert not wrong, wrong
print("no difference")
