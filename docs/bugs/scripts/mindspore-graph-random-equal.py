import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def draw():
    return ops.rand(8)


def two():
    return draw(), draw()


ms.set_seed(3)
first, second = (one.asnumpy() for one in ms.jit(two)())
print("first: ", first)
print("second:", second)
assert not np.array_equal(first, second), "two draws of eight numbers are the same eight"
print("no difference")
