import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def count(x):
    steps = 16777216.0
    if steps + 1.0 > steps:
        return x + 1
    return x


x = Tensor(np.array([1.0], np.float32))
for name, function in (("PyNative", count), ("Graph", ms.jit(count))):
    seen = function(x).asnumpy()
    print(name, seen)
    np.testing.assert_array_equal(seen, [2.0])
print("no difference")
