"""clone + div_: MindSpore PyNative gave a wrong gradient."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

c0 = Tensor(np.array([1.0], np.float32))

def forward(x):
    a = x.copy()
    a.div_(x)
    b = a
    return b


def loss(x, c0):
    b = forward(x)
    return (b * c0).sum()

print("mindspore", ms.__version__)

got = ms.value_and_grad(loss, (0,))(x, c0)[1]
got = got.asnumpy().astype(np.float64)
expected = np.array([0.0])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
