import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([[[0.1, 0.2]]])
expected = np.array([[[0.15]]])
seen = ops.avg_pool1d(Tensor(x), 2, 2).asnumpy()
print("seen:    ", np.array2string(seen, precision=17))
print("expected:", expected)
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, expected, rtol=1e-9)
print("no difference")
