import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def unchanged(x):
    y = x
    if y is x:
        return x
    return x + 1


x = Tensor(np.array([1.0], np.float32))
for name, function in (("PyNative", unchanged), ("Graph", ms.jit(unchanged))):
    seen = function(x).asnumpy()
    print(name, seen)
    np.testing.assert_array_equal(seen, [1.0])
print("no difference")
