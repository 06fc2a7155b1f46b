import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor(np.array([[1.0, 3.0], [2.0, 0.0]], np.float32))


def forward(x):
    return x.amax(axis=-1, keepdims=False)


print("PyNative:", forward(x))
try:
    print("Graph:", ms.jit(forward)(x))
except Exception as error:
    raise AssertionError("amax with keepdims raises in Graph mode") from error
print("no difference")
