import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


@ms.jit
def total(x):
    y = Tensor([0.0, 0.0])
    y += x
    return y


x = Tensor(np.array([10.0, 20.0], np.float32))
seen = [total(x).asnumpy().copy() for _ in range(3)]
print("three calls:", *seen)
for one in seen:
    np.testing.assert_array_equal(one, [10.0, 20.0])
print("no difference")
