import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


@ms.jit
def two(x):
    y = ops.ones_like(x)
    z = ops.ones_like(x)
    y += 1
    return y, z


x = Tensor(np.array([5.0, 6.0], np.float32))
y, z = two(x)
print("y:", y.asnumpy(), "z:", z.asnumpy())
np.testing.assert_array_equal(z.asnumpy(), [1.0, 1.0])
print("no difference")
