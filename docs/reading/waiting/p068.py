"""cast + div_: MindSpore PyNative gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([-214.4], np.float32), ms.float32)

def forward(x):
    a = ops.cast(x, ms.float16)
    b = ops.cast(a, ms.float32)
    b.div_(x)
    c = b
    return c

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([1.0])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
