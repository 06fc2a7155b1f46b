import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([[1.0, 2.0], [3.0, 5.0]])
gamma, beta = np.array([1.0, 2.0]), np.array([1.0, 2.0])
centred = x - x.mean(-1, keepdims=True)
expected = centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta
seen = ops.LayerNorm(-1, -1, 1e-5)(Tensor(x), Tensor(gamma), Tensor(beta))[0].asnumpy()
print("seen:    ", np.array2string(seen, precision=17))
print("expected:", np.array2string(expected, precision=17))
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, expected, rtol=1e-10)
print("no difference")
