"""mindspore.ops.l1_loss: MindSpore PyNative and MindSpore Graph mode gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([0.5478467492858172], np.float64), ms.float64)
y = Tensor(np.array([0.03419276725318417], np.float64), ms.float64)

def forward(x, y):
    a = ops.l1_loss(x, y, reduction="mean")
    return a

print("mindspore", ms.__version__)

got = forward(x, y)
got = got.asnumpy().astype(np.float64)
expected = np.array(0.513653982032633)  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=7.450580596923828e-09, atol=1e-10)

print("no difference")
