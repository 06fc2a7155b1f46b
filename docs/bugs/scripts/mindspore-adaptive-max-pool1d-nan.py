import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[[np.nan, 1.0, 2.0, 3.0]]], np.float32))
seen = ops.adaptive_max_pool1d(x, 2).asnumpy()
print("pooled:", seen, "ops.max of the first half:", ops.max(x[..., :2])[0])
np.testing.assert_array_equal(seen, np.array([[[np.nan, 3.0]]], np.float32))
print("no difference")
