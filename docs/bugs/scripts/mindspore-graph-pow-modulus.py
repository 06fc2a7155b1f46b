import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def scaled(x):
    return x * pow(3, 2, 5)


x = Tensor(np.array([1.0], np.float32))
for name, function in (("PyNative", scaled), ("Graph", ms.jit(scaled))):
    seen = function(x).asnumpy()
    print(name, seen)
    np.testing.assert_array_equal(seen, [4.0])
print("no difference")
