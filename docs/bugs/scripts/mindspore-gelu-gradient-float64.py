import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def by_hand(x):
    inner = np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)
    slope = np.sqrt(2.0 / np.pi) * (1.0 + 3 * 0.044715 * x**2)
    return 0.5 * (1 + np.tanh(inner)) + 0.5 * x * slope / np.cosh(inner) ** 2


x = Tensor([0.3, -1.1, 2.2], ms.float64)
seen = ms.grad(lambda x: ops.gelu(x, approximate="tanh").sum())(x).asnumpy()
expected = by_hand(x.asnumpy())
print("gradient:", seen.dtype, [repr(float(one)) for one in seen])
print("by hand: ", expected.dtype, [repr(float(one)) for one in expected])
np.testing.assert_allclose(seen, expected, rtol=1e-11)
print("no difference")
