"""mindspore.ops.masked_fill: MindSpore PyNative raised although the documentation lists CPU."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1,), 1, np.float32), ms.float32)
y = Tensor(np.full((1,), 1, np.bool_), ms.bool_)

def forward(x, y):
    a = ops.masked_fill(x, y, 2)
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x, y))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
