import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = np.array([1.0, 3.0])
seen = (Tensor(x) * 0.1).asnumpy()
print("x * 0.1:                 ", [f"{one:.17g}" for one in seen])
print("x * Tensor(0.1, float64):", [f"{one:.17g}" for one in (Tensor(x) * Tensor(0.1, ms.float64)).asnumpy()])
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, x * 0.1, rtol=1e-12)
print("no difference")
