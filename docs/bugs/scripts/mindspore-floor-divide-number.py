import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([5.0, -5.0], np.float32))
np.testing.assert_array_equal(ops.floor_divide(x, 2).asnumpy(), [2.0, -3.0])
try:
    seen = x.floor_divide(2).asnumpy()
except RuntimeError as error:
    raise AssertionError(f"it raises: {error}") from error
np.testing.assert_array_equal(seen, [2.0, -3.0])
print("no difference")
