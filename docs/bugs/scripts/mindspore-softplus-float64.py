import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([-1.3, -0.2, 0.7, 2.1])
expected = np.log1p(np.exp(x))
seen = ops.softplus(Tensor(x)).asnumpy()
print("seen:    ", seen)
print("expected:", expected)
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, expected, rtol=1e-9)
print("no difference")
