import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x, y = Tensor([3.0, 0.1], ms.float64), Tensor([4.0, 0.7], ms.float64)
seen = ms.grad(lambda x: ops.hypot(x, y).sum())(x).asnumpy()
by_hand = ms.grad(lambda x: ops.sqrt(x * x + y * y).sum())(x).asnumpy()
print("gradient:", seen.dtype, [repr(float(one)) for one in seen])
print("by hand: ", by_hand.dtype, [repr(float(one)) for one in by_hand])
np.testing.assert_allclose(seen, x.asnumpy() / np.hypot(x.asnumpy(), y.asnumpy()), rtol=1e-11)
print("no difference")
