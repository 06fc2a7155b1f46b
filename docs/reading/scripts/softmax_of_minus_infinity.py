"""mindspore.ops.softmax: MindSpore PyNative got NaN or Inf wrong."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([-np.inf], np.float32), ms.float32)

def forward(x):
    a = ops.softmax(x, -1)
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([np.nan])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
