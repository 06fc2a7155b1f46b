import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([1.0, 3.0, 4.0, 5.0], np.float32)
seen = ops.tanh(Tensor(x)).asnumpy()
print("seen:    ", seen)
print("expected:", np.tanh(x))
assert (np.abs(seen) <= 1).all(), f"tanh is {seen.max()}"
np.testing.assert_allclose(seen, np.tanh(x), rtol=1.3e-6, atol=1e-5)
print("no difference")
