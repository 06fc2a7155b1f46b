"""div_scalar_ + conv2d + setitem: MindSpore PyNative gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor((np.arange(2) * 1 + 1).reshape((2, 1, 1, 1)).astype(np.float32), ms.float32)
y = Tensor((np.arange(3) * 1 + 1).reshape((3, 1, 1, 1)).astype(np.float32), ms.float32)
z = Tensor((np.arange(4) * 1 + 1).reshape((2, 2, 1, 1)).astype(np.float32), ms.float32)

def forward(x, y, z):
    x.div_(2.0)
    a = x
    b = ops.conv2d(a, y, None, stride=1, pad_mode="pad", padding=0, dilation=1, groups=1)
    b[:, 1:3:1] = z
    c = b
    return c

print("mindspore", ms.__version__)

got = forward(x, y, z)
got = got.asnumpy().astype(np.float64)
expected = np.array([[[[0.5]],

  [[1.0]],

  [[2.0]]],


 [[[1.0]],

  [[3.0]],

  [[4.0]]]])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
