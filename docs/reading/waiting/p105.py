"""cast + linear: MindSpore PyNative gave a wrong gradient."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, mint, ops

x = Tensor(np.array([[-0.1]], np.float32), ms.float32)
y = Tensor(np.full((1,), 1, np.float32), ms.float32)

c0 = Tensor(np.array([1.0], np.float32))

def forward(x, y):
    a = ops.cast(x, ms.int64)
    b = ops.cast(a, ms.float32)
    c = mint.nn.functional.linear(y, b, None)
    return c


def loss(x, y, c0):
    c = forward(x, y)
    return (c * c0).sum()

print("mindspore", ms.__version__)

d_x = Tensor((1 + np.arange(x.size) % 7 / 8).reshape(x.shape).astype(np.float32)).astype(x.dtype)
d_y = Tensor((1 + np.arange(y.size) % 7 / 8).reshape(y.shape).astype(np.float32)).astype(y.dtype)


def derivative(x, y, c0, d_x, d_y):
    return ms.jvp(lambda x, y: loss(x, y, c0), (x, y,), (d_x, d_y,))[1]


got = derivative(x, y, c0, d_x, d_y)
got = got.asnumpy().astype(np.float64)
expected = np.array(0.0)  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
