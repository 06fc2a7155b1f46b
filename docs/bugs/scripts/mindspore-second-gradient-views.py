import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
a = Tensor(np.array([[1.0, 2.0]], np.float32))
b = Tensor(np.array([[3.0], [4.0]], np.float32))


def product(a, b):
    return ops.matmul(a, b).sum()


def first(a, b):
    return ms.grad(product, 0)(a, b).sum()


value = first(a, b).asnumpy()
gradient = ms.grad(first, 1)(a, b).asnumpy()
print("sum of the gradient of a:", value, "its derivative by b:", gradient)
np.testing.assert_array_equal(value, 7.0)
np.testing.assert_array_equal(gradient, [[1.0], [1.0]])
print("no difference")
