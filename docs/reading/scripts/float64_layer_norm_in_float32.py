"""mindspore.ops.LayerNorm: MindSpore PyNative and MindSpore Graph mode gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor((np.arange(2) * 1 + 1).reshape((2,)).astype(np.float64), ms.float64)

def forward(x):
    a = ops.LayerNorm(-1, -1, 1e-05)(x, x, x)[0]
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([1.9999400020065394e-05, 3.99996000119996])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=7.450580596923828e-09, atol=1e-10)

print("no difference")
