"""mindspore.ops.interpolate: MindSpore PyNative and MindSpore Graph mode gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.random.default_rng(0).uniform(-2.0, 2.0, (2, 3, 5, 4)).astype(np.float64), ms.float64)

def forward(x):
    a = ops.interpolate(x, size=(7, 8), mode="bilinear", align_corners=False)
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy().astype(np.float64)
got = got[(0, 1, 2, 2)]  # the worst element
expected = 0.015132642557544082  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=7.450580596923828e-09, atol=1e-10)

print("no difference")
