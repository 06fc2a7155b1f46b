"""mindspore.ops.matmul: MindSpore PyNative and MindSpore Graph mode gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.random.default_rng(0).uniform(-2.0, 2.0, (2, 4, 3, 8)).astype(np.float64), ms.float64)
y = Tensor(np.random.default_rng(41).normal(0.0, 1.0, (2, 4, 3, 8)).astype(np.float64), ms.float64)
z = Tensor(np.random.default_rng(43).normal(0.0, 1.0, (2, 4, 3, 8)).astype(np.float64), ms.float64)
w = Tensor(np.array([[-0.6664369401110779, 0.09745096576639617, -1.8996468287885815],
 [-1.940069758804618, -1.4105191377011428, -0.8005887209834909],
 [-0.7341025769963359, -0.45682113475222835, -0.19085001869622983]], np.float64), ms.float64)

def forward(x, y, z, w):
    a = ops.matmul(ops.softmax(ops.matmul(x, y.swapaxes(-1, -2)) * x.shape[-1] ** -0.5 + w, -1), z)
    return a

print("mindspore", ms.__version__)

got = forward(x, y, z, w)
got = got.asnumpy().astype(np.float64)
got = got[(0, 3, 1, 5)]  # the worst element
expected = 0.01307250759107123  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=7.450580596923828e-09, atol=1e-10)

print("no difference")
