import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


@ms.jit
def grown(x):
    y = x + 0
    y += 1
    return y, x


x = Tensor(np.array([1.0, 2.0], np.float32))
y, same = grown(x)
print("x + 0 + 1:", y.asnumpy(), "x:", same.asnumpy())
np.testing.assert_array_equal(same.asnumpy(), [1.0, 2.0])
print("no difference")
