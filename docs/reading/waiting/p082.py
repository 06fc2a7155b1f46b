"""mindspore.ops.scatter: MindSpore PyNative and MindSpore Graph mode raised although the documentation lists CPU."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((2, 16, 6, 0), 1, np.int16), ms.int16)
y = Tensor(np.full((2, 1, 6, 0), 1, np.int64), ms.int64)
z = Tensor(np.full((2, 1, 6, 0), 1, np.int16), ms.int16)

def forward(x, y, z):
    a = ops.scatter(x, 1, y, z)
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x, y, z))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
