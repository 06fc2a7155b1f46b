import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([0.1, 0.55, -2.1])
seen = ops.ger(Tensor(x), Tensor(x)).asnumpy()
print("ger:  ", seen)
print("outer:", ops.outer(Tensor(x), Tensor(x)).asnumpy())
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, np.outer(x, x), rtol=1e-12)
print("no difference")
