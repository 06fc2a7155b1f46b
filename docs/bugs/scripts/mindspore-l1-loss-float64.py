import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([0.5478467492858172])
expected = 0.5478467492858172
seen = ops.l1_loss(Tensor(x), Tensor(np.zeros(1))).asnumpy()
print("seen:    ", np.array2string(seen, precision=17))
print("expected:", expected)
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, expected, rtol=1e-9)
print("no difference")
