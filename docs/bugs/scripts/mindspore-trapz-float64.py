import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.trapz(Tensor(np.array([0.1, 0.2, 0.4]))).asnumpy()
print(seen.dtype, seen)
assert seen.dtype == np.float64, f"trapz of float64 is {seen.dtype}"
np.testing.assert_allclose(seen, 0.45, rtol=1e-12)
print("no difference")
