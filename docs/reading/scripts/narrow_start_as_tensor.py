"""mindspore.Tensor.narrow: MindSpore PyNative and MindSpore Graph mode raised although the documentation lists CPU.

MindSpore PyNative and MindSpore Graph mode raised although the documentation lists CPU (the documentation of the call lists CPU).
"""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((2,), 1, np.float32), ms.float32)

def forward(x):
    a = x.narrow(0, Tensor(0), 2)
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
