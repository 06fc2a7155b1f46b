import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([-1.3, -0.2, 0.7, 2.1])
expected = 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))
seen = ops.selu(Tensor(x)).asnumpy()
print("seen:    ", seen)
print("expected:", expected)
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, expected, rtol=1e-9)
print("no difference")
