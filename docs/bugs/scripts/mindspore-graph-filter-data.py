import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def positive(x, y):
    return [one for one in (x, y) if one.sum() > 0]


x, y = Tensor(np.array([1.0], np.float32)), Tensor(np.array([-2.0], np.float32))
assert len(positive(x, y)) == 1
try:
    seen = ms.jit(positive)(x, y)
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {error}") from error
assert len(seen) == 1, f"{len(seen)} of two are left"
print("no difference")
