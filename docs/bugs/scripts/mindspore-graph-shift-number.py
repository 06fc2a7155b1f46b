import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def half(x):
    return int(x.sum()) >> 1


x = Tensor(np.array([3.0, 4.0], np.float32))
assert half(x) == 3
try:
    seen = ms.jit(half)(x)
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {error}") from error
assert seen == 3, seen
print("no difference")
