import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x, src = Tensor(np.zeros((2, 2), np.float32)), Tensor(np.ones(2, np.float32))


def forward(x, src):
    return x.diagonal_scatter(src)


print("PyNative:", forward(x, src))
try:
    print("Graph:", ms.jit(forward)(x, src))
except Exception as error:
    raise AssertionError("diagonal_scatter without offset raises in Graph mode") from error
print("no difference")
