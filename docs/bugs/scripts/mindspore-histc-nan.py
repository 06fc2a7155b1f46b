import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.histc(Tensor(np.array([np.nan], np.float32)), 4, -2.0, 2.0).asnumpy()
print("bins:", seen)
assert seen.sum() == 0, f"NaN was counted: {seen}"
print("no difference")
