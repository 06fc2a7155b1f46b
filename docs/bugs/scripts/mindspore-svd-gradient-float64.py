import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def forward(x):
    s, u, v = ops.svd(x)
    return ops.matmul(u * s.expand_dims(-2), v.swapaxes(-1, -2)).sum()


x = Tensor(np.array([[0.3, 1.1], [2.2, 0.7]]), ms.float64)
print("value off by:", abs(float(forward(x).asnumpy()) - x.asnumpy().sum()))
seen = ms.grad(forward)(x).asnumpy()
print("gradient:", seen.dtype, [repr(float(one)) for one in seen.ravel()])
np.testing.assert_allclose(seen, np.ones((2, 2)), rtol=1e-11)
print("no difference")
