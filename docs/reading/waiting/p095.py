"""next + tanhshrink: MindSpore PyNative gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1, 1), 1, np.float32), ms.float32)
y = Tensor(np.array([5.0], np.float32), ms.float32)

def forward(x, y):
    a = next(iter((x, x)))
    b = ops.tanhshrink(y)
    return a, b

print("mindspore", ms.__version__)

got = forward(x, y)
got = got[1]
got = got.asnumpy().astype(np.float64)
expected = np.array([4.000090795737405])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
