import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def write(x):
    items = [x, x + 1]
    same = items
    same[0] = x * 5
    return items[0]


x = Tensor(np.array([1.0, 2.0], np.float32))
for name, function in (("PyNative", write), ("Graph", ms.jit(write))):
    seen = function(x).asnumpy()
    print(name, seen)
    np.testing.assert_array_equal(seen, [5.0, 10.0])
print("no difference")
