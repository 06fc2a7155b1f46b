import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))
whole = ops.zeros((3,), ms.float32)
whole[:] = x
whole[0] = 9.0
print("after a[:] = x and a[0] = 9, x is", x.asnumpy())
np.testing.assert_array_equal(x.asnumpy(), [1.0, 2.0, 3.0])

dots = ops.zeros((3,), ms.float32)
dots[...] = x
dots[0] = 9.0
print("after a[...] = x and a[0] = 9, x is", x.asnumpy())
np.testing.assert_array_equal(x.asnumpy(), [1.0, 2.0, 3.0])
print("no difference")
