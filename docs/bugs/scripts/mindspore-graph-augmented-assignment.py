import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def less(x):
    x -= 1.0
    return x


for name, function in (("PyNative", less), ("Graph", ms.jit(less))):
    x = Tensor(np.array([1.0, 2.0], np.float32))
    seen = function(x).asnumpy()
    print(name, "returned", seen, "the caller's tensor is", x.asnumpy())
    np.testing.assert_array_equal(seen, [0.0, 1.0])
    np.testing.assert_array_equal(x.asnumpy(), [1.0, 2.0])
print("no difference")
