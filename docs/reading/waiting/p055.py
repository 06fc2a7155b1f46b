"""scan: MindSpore Graph mode got NaN or Inf wrong."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([0.0], np.float32), ms.float32)

mul_scalar_b148 = ms.Tensor(1e+20, ms.float32)


def forward(x):
    c148 = x
    found = []
    for e148 in (x, x):
        b148 = ops.mul(c148, mul_scalar_b148)
        b149 = ops.add(b148, e148)
        found.append(b149)
        c148 = b148
    a = (c148, found[0], found[1])
    b = a[0]
    return b

print("mindspore", ms.__version__)

got = ms.jit(forward, capture_mode="ast", fullgraph=True)(x)
pynative = forward(x)
print("pynative:", pynative.asnumpy().astype(np.float64))
got = got.asnumpy().astype(np.float64)
expected = np.array([0.0])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
