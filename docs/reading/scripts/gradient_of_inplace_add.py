"""mindspore.ops.inplace_add: MindSpore PyNative gave a wrong gradient."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((3, 3), 1, np.float32), ms.float32)
y = Tensor(np.full((2, 3), 1, np.float32), ms.float32)

c0 = Tensor(np.array([[1.0, -1.125, 1.25],
 [-1.375, 1.5, -1.625],
 [1.75, -1.0, 1.125]], np.float32))

def forward(x, y):
    a = ops.inplace_add(x, y, (0, 2))
    return a


def loss(x, y, c0):
    a = forward(x, y)
    return (a * c0).sum()

print("mindspore", ms.__version__)

got = ms.value_and_grad(loss, (1,))(x, y, c0)[1]
got = got.asnumpy().astype(np.float64)
expected = np.array([[1.0, -1.125, 1.25],
 [1.75, -1.0, 1.125]])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
