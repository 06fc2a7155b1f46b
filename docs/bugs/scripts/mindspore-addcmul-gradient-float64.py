import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x, y, z = (Tensor([one], ms.float64) for one in (0.3, 0.7, 2.1))
seen = ms.grad(lambda y: ops.addcmul(x, y, z, 1).sum())(y).asnumpy()
by_hand = ms.grad(lambda y: (x + y * z).sum())(y).asnumpy()
print("gradient:", repr(float(seen[0])))
print("by hand: ", repr(float(by_hand[0])))
np.testing.assert_allclose(seen, z.asnumpy(), rtol=1e-11)
print("no difference")
