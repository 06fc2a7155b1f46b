"""mindspore.ops.clamp: MindSpore PyNative and MindSpore Graph mode got NaN or Inf wrong.

MindSpore PyNative and MindSpore Graph mode got NaN or Inf wrong at a (mindspore-pynative: NaN or Inf where it must not be, or the reverse, at 1 elements).
"""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([np.nan], np.float32), ms.float32)

def forward(x):
    a = ops.clamp(x, -1.0, 1.0)
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([np.nan])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
