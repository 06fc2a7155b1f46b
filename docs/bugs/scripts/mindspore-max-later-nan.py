import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
first = ops.amax(Tensor(np.array([np.nan, 1.0], np.float32)), axis=-1).asnumpy()
later = ops.amax(Tensor(np.array([1.0, np.nan], np.float32)), axis=-1).asnumpy()
print("NaN first:", first, "NaN later:", later)
assert np.isnan(first) == np.isnan(later), "whether amax is NaN depends on the order"
print("no difference")
