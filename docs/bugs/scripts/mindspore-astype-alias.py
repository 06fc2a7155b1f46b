import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor(np.array([1.0, 2.0], np.float32))
y = x.astype(ms.float32, copy=True)
y[0] = 9.0
print("x after a write to its copy:", x.asnumpy())
np.testing.assert_array_equal(x.asnumpy(), [1.0, 2.0])
print("no difference")
