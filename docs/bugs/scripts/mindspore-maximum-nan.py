import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
nan, one = Tensor(np.array([np.nan], np.float32)), Tensor(np.array([1.0], np.float32))
print(ops.maximum(nan, one), ops.maximum(one, nan))
assert np.isnan(ops.maximum(nan, one).asnumpy()[0]), "maximum(NaN, 1) is no NaN"
assert np.isnan(ops.maximum(one, nan).asnumpy()[0]), "maximum(1, NaN) is no NaN"
print("no difference")
