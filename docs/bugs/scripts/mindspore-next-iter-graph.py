import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x, y = Tensor(np.array([1.0], np.float32)), Tensor(np.array([2.0], np.float32))


def first(x, y):
    return next(iter((x, y)))


seen = ms.jit(first)(x, y)
print("PyNative:", type(first(x, y)).__name__, "Graph:", type(seen).__name__)
assert not isinstance(seen, tuple), "next gives a tuple"
print("no difference")
