import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def scaled(x, **factor):
    return x * factor["factor"]


x = Tensor(np.array([1.0, 2.0], np.float32))
np.testing.assert_array_equal(scaled(x, factor=3.0).asnumpy(), [3.0, 6.0])
try:
    seen = ms.jit(scaled)(x, factor=3.0).asnumpy()
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {error}") from error
np.testing.assert_array_equal(seen, [3.0, 6.0])
print("no difference")
