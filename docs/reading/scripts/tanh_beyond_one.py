"""mindspore.ops.tanh: MindSpore PyNative gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([5.0], np.float32), ms.float32)

def forward(x):
    x[...] = ops.tanh(x)
    a = x
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([0.9999092042625951])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
