"""cast + pow_: MindSpore PyNative gave a wrong gradient."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([0.7], np.float64), ms.float64)
y = Tensor(np.array([1.7], np.float32), ms.float32)

c0 = Tensor(np.array([1.0], np.float32))

def forward(x, y):
    a = ops.cast(x, ms.float32)
    a[...] = a ** y
    b = a
    return b


def loss(x, y, c0):
    b = forward(x, y)
    return (b * c0).sum()

print("mindspore", ms.__version__)

got = ms.value_and_grad(loss, (0,))(x, y, c0)[1]
got = got.asnumpy().astype(np.float64)
expected = np.array([1.32439506616328])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=4e-07, atol=1e-07)

print("no difference")
