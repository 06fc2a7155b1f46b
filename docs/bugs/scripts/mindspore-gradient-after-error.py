import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def second_row(x):
    return (x * 2.0)[1].sum()


def fails(x):
    doubled = x * 2.0
    raise ValueError("an error of the user's own")


print("before:", ms.grad(second_row)(x).asnumpy().tolist())
try:
    ms.grad(fails)(x)
except ValueError as error:
    print("caught:", error)
try:
    print("after:", ms.grad(second_row)(x).asnumpy().tolist())
except TypeError as error:
    message = str(error).splitlines()[0]
    raise AssertionError(f"the same gradient raises after the error: {message}") from error
print("no difference")
