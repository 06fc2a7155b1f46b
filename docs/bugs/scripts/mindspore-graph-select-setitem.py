import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def write(x):
    row = (x * 1).select(0, 1)
    row[0] = 9.0
    return row


x = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
np.testing.assert_array_equal(write(x).asnumpy(), [9.0, 4.0])
try:
    seen = ms.jit(write)(x).asnumpy()
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {error}") from error
np.testing.assert_array_equal(seen, [9.0, 4.0])
print("no difference")
