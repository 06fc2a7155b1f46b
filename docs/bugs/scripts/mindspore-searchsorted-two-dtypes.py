import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
edges = Tensor(np.array([1.0, 2.0, 4.0, 8.0], np.float32))
values = Tensor(np.array([0.5, 4.0, 9.0], np.float32))
first = ops.searchsorted(edges, values, out_int32=True).asnumpy()
try:
    second = ops.searchsorted(edges, values).asnumpy()
except (RuntimeError, TypeError, ValueError) as error:
    raise AssertionError(f"the second call raises: {error}") from error
print(first.dtype, first, second.dtype, second)
np.testing.assert_array_equal(first, [0, 2, 4])
np.testing.assert_array_equal(second, [0, 2, 4])
print("no difference")
