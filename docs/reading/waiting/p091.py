"""mindspore.ops.hann_window: MindSpore Graph mode gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((4,), 1, np.float32), ms.float32)

def forward(x):
    a = ops.hann_window(x.shape[-1], False, dtype=ms.float64)
    return a

print("mindspore", ms.__version__)

got = ms.jit(forward, capture_mode="ast", fullgraph=True)(x)
pynative = forward(x)
print("pynative:", pynative.asnumpy().astype(np.float64))
got = got.asnumpy().astype(np.float64)
expected = np.array([0.0, 0.7499999999999999, 0.7500000000000002, 0.0])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=7.450580596923828e-09, atol=1e-10)

print("no difference")
