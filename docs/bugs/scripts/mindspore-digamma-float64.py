import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
# psi(1) is -gamma, psi(1/2) is -gamma - 2 log 2 (Abramowitz and Stegun, 6.3.2, 6.3.3).
gamma = 0.57721566490153286
x = np.array([1.0, 0.5])
expected = np.array([-gamma, -gamma - 2 * np.log(2.0)])
seen = ops.digamma(Tensor(x)).asnumpy()
print("seen:    ", seen)
print("expected:", expected)
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, expected, rtol=1e-9)
print("no difference")
