import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def half(x):
    return x * 2**-1


x = Tensor(np.array([3.0, 8.0], np.float32))
for name, function in (("PyNative", half), ("Graph", ms.jit(half))):
    seen = function(x).asnumpy()
    print(name, seen)
    np.testing.assert_array_equal(seen, [1.5, 4.0])
print("no difference")
