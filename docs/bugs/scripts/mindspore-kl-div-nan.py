import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.kl_div(Tensor(np.array([np.nan], np.float32)), Tensor(np.array([np.nan], np.float32)), "batchmean").asnumpy()
print("loss:", seen)
assert np.isnan(seen), f"the loss of NaN is {seen}"
print("no difference")
