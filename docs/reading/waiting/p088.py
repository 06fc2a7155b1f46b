"""mindspore.mint.nn.functional.linear: MindSpore PyNative gave a wrong gradient."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, mint

x = Tensor(np.full((1, 1, 1), 1, np.float32), ms.float32)
y = Tensor(np.full((1, 1), 1, np.float32), ms.float32)
z = Tensor(np.full((1,), 1, np.float32), ms.float32)

c0 = Tensor(np.array([[[1.0]]], np.float32))

def forward(x, y, z):
    a = mint.nn.functional.linear(x, y, z)
    return a


def loss(x, y, z, c0):
    a = forward(x, y, z)
    return (a * c0).sum()

print("mindspore", ms.__version__)


def squares(*arguments):
    first = ms.grad(loss, (0, 1))(*arguments)
    parts = []
    for one in first if isinstance(first, tuple) else (first,):
        weights = (1 + np.arange(one.size) % 7 / 8).reshape(one.shape).astype(np.float32)
        parts.append((Tensor(weights).astype(one.dtype) * one * one).sum())
    return sum(parts[1:], parts[0])


got = ms.grad(squares, (0, 1))(x, y, z, c0)[0]
got = got.asnumpy().astype(np.float64)
expected = np.array([[[2.0]]])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
