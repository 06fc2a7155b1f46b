"""mindspore.ops.round: MindSpore PyNative and MindSpore Graph mode raised although the documentation lists CPU."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x):
    a = ops.round(x, decimals=1)
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
