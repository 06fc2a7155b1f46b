"""mindspore.Tensor.add_: MindSpore PyNative lost an in-place result."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x):
    a = x.add_(x)
    return a

print("mindspore", ms.__version__)

before = x.asnumpy().astype(np.float64).copy()
forward(x)
after = x.asnumpy().astype(np.float64)
expected = np.array([2.0])  # the same computation in float64
print("after:   ", after)
print("expected:", expected)
np.testing.assert_allclose(after, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
