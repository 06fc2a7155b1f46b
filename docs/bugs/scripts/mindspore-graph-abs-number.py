import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def distance(x):
    return abs(int(x.sum()))


x = Tensor(np.array([-3.0, -4.0], np.float32))
assert distance(x) == 7
try:
    seen = ms.jit(distance)(x)
except TypeError as error:
    raise AssertionError(f"Graph mode raises: {error}") from error
assert seen == 7, seen
print("no difference")
