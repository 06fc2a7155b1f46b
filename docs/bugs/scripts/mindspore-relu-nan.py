import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.relu(Tensor(np.array([np.nan, -1.0, 2.0], np.float32))).asnumpy()
print("relu:", seen)
np.testing.assert_array_equal(seen, np.array([np.nan, 0.0, 2.0], np.float32))
print("no difference")
