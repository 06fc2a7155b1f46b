import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.diagonal_scatter(Tensor(np.array([[np.nan]], np.float32)), Tensor(np.array([1.0], np.float32)), 0).asnumpy()
print("after the write:", seen)
np.testing.assert_array_equal(seen, np.array([[1.0]], np.float32))
print("no difference")
