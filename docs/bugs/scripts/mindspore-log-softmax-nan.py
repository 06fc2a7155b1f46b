import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.log_softmax(Tensor(np.array([np.nan, 0.0], np.float32)), -1).asnumpy()
print("log_softmax:", seen)
assert np.isnan(seen).all(), f"log_softmax of [NaN, 0] is {seen}"
print("no difference")
