import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))
w = Tensor(np.array([1.0, 10.0, 100.0], np.float32))


def loss(x):
    return (x[::-1] * w).sum()


gradient = ms.grad(loss)(x).asnumpy()
print("gradient:", gradient)
np.testing.assert_array_equal(gradient, [100.0, 10.0, 1.0])
print("no difference")
