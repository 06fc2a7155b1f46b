"""mindspore.Tensor.div_: MindSpore PyNative lost an in-place result."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x):
    x.div_(2.0)
    a = x
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([0.5])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
