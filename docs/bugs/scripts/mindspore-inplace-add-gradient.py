import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.zeros((3, 2), np.float32))
v = Tensor(np.ones((2, 2), np.float32))


def loss(x, v):
    return (ops.inplace_add(x, v, (0, 2)) * 3).sum()


gradient = ms.value_and_grad(loss, 1)(x, v)[1].asnumpy()
print("gradient of v:", gradient)
np.testing.assert_array_equal(gradient, np.full((2, 2), 3.0))
print("no difference")
