import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([np.nan, 2.0, -2.0], np.float32))
seen = ops.clamp(x, 0.0, 1.0).asnumpy()
print("clamp:", seen)
np.testing.assert_array_equal(seen, np.array([np.nan, 1.0, 0.0], np.float32))
print("no difference")
