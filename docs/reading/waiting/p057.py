"""exp_ + add_scalar_: MindSpore PyNative gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x):
    x[...] = ops.exp(x)
    a = x
    a.add_(1.5)
    b = a
    return b

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([4.218281828459045])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
