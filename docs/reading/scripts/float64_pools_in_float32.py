"""mindspore.ops.avg_pool2d: MindSpore PyNative and MindSpore Graph mode gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([[[[0.5, -0.9],
   [0.4, 0.9]]]], np.float64), ms.float64)

def forward(x):
    a = ops.avg_pool2d(x, 2, stride=2, padding=0, ceil_mode=False, count_include_pad=True)
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
expected = np.array([[[[0.225]]]])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=7.450580596923828e-09, atol=1e-10)

print("no difference")
