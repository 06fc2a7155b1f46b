import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor(np.array([[4.0, 9.0], [2.0, 1.0]], np.float32))


def forward(x):
    return x.max(1)


expected, seen = forward(x), ms.jit(forward)(x)
print("PyNative:", expected)
print("Graph:   ", seen)
assert type(seen) is type(expected), type(seen)
print("no difference")
