"""clone + add_scalar_ + matmul: MindSpore PyNative gave a wrong gradient."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

c0 = Tensor(np.array(1.0, np.float32))

def forward(x):
    a = x.copy()
    a.add_(1.5)
    b = a
    c = ops.matmul(b, x)
    return c


def loss(x, c0):
    c = forward(x)
    return (c * c0).sum()

print("mindspore", ms.__version__)

got = ms.value_and_grad(loss, (0,))(x, c0)[1]
got = got.asnumpy().astype(np.float64)
expected = np.array([3.5])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
