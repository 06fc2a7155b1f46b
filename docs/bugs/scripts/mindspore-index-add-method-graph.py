import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), ms.float32)
indices = Tensor(np.array([0, 2]), ms.int32)
y = Tensor(np.array([[0.5, 1.0], [1.0, 1.5], [2.0, 2.5]]), ms.float32)


def method(x, indices, y):
    return x.index_add(indices, y, axis=1)


def function(x, indices, y):
    return ops.index_add(x, indices, y, 1)


print("method, PyNative:", method(x, indices, y))
print("function, Graph:", ms.jit(function, capture_mode="ast", fullgraph=True)(x, indices, y))
try:
    print("method, Graph:", ms.jit(method, capture_mode="ast", fullgraph=True)(x, indices, y))
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {str(error).splitlines()[0]}") from error
print("no difference")
