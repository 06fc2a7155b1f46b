import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def write(x):
    y = x * 1
    z = y
    z[0] = 9.0
    return y


x = Tensor(np.array([1.0, 2.0], np.float32))
for name, function in (("PyNative", write), ("Graph", ms.jit(write))):
    seen = function(x).asnumpy()
    print(name, seen)
    np.testing.assert_array_equal(seen, [9.0, 2.0])
print("no difference")
