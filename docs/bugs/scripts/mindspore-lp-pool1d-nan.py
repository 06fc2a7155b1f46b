import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[[np.nan, 1.0, 2.0, 3.0]]], np.float32))
seen = ops.lp_pool1d(x, 2.0, 2, 2).asnumpy()
print("pooled:", seen)
assert np.isnan(seen[0, 0, 0]), f"the norm of [nan, 1] is {seen[0, 0, 0]}"
print("no difference")
