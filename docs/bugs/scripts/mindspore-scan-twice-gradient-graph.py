import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def step(state, element):
    return state * element, state + element


def once(x):
    last, found = ops.Scan()(step, x, (x, x))
    return last.sum()


def twice(x):
    first, found = ops.Scan()(step, x, (x, x))
    last, found = ops.Scan()(step, first, (x, x))
    return last.sum()


def compiled(function):
    return ms.jit(function, capture_mode="ast", fullgraph=True)


x = Tensor(np.array([1.0, 2.0], np.float32))
print("once, gradient, Graph:", compiled(ms.grad(once))(x))
print("twice, value, Graph:", compiled(twice)(x))
print("twice, gradient, PyNative:", ms.grad(twice)(x))
try:
    got = compiled(ms.grad(twice))(x)
except TypeError as error:
    raise AssertionError(f"the gradient of two scans: {str(error).splitlines()[0]}") from error
assert np.allclose(got.asnumpy(), [5.0, 80.0])
print("no difference")
