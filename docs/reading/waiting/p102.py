"""cast + gelu: MindSpore PyNative and MindSpore Graph mode gave a wrong gradient."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([0.61], np.float32), ms.float32)

c0 = Tensor(np.array([1.0], np.float32))

def forward(x):
    a = ops.cast(x, ms.float16)
    b = ops.gelu(a, approximate="none")
    return b


def loss(x, c0):
    b = forward(x)
    return (b.astype(ms.float32) * c0).sum()

print("mindspore", ms.__version__)

got = ms.value_and_grad(loss, (0,))(x, c0)[1]
got = got.asnumpy().astype(np.float64)
expected = np.array([0.931110058846692])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
