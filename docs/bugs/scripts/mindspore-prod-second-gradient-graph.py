import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor([2.0, 3.0, 5.0], ms.float32)


def whole(x):
    return ops.prod(x)


def along_axis(x):
    return ops.prod(x, 0)


def slope(x):
    return ms.grad(whole)(x).sum()


def slope_along_axis(x):
    return ms.grad(along_axis)(x).sum()


print("PyNative:            ", ms.grad(slope)(x))
print("Graph, ops.prod(x, 0):", ms.jit(ms.grad(slope_along_axis))(x))
try:
    seen = ms.jit(ms.grad(slope))(x).asnumpy()
except RuntimeError as error:
    text = str(error).splitlines()[0]
    raise AssertionError(f"Graph mode raises: {text}") from error
print("Graph, ops.prod(x):  ", seen)
np.testing.assert_allclose(seen, [8.0, 7.0, 5.0], rtol=1e-5)
print("no difference")
