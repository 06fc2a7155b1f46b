"""mindspore.ops.unsorted_segment_min: MindSpore PyNative and MindSpore Graph mode raised although the documentation lists CPU."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1,), 1, np.float32), ms.float32)
y = Tensor(np.array([0], np.int32), ms.int32)

def forward(x, y):
    a = ops.unsorted_segment_min(x, y, Tensor(1, ms.int32))
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x, y))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
