"""mindspore.ops.IndexFill: MindSpore PyNative and MindSpore Graph mode raised although the documentation lists CPU."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([[[0.54784673],
  [1.253081],
  [0.17449996]],

 [[1.429617],
  [1.4527156],
  [-1.8867214]]], np.float32), ms.float32)
y = Tensor(np.array([0, 2], np.int64), ms.int64)

def forward(x, y):
    a = ops.IndexFill()(x, 1, y.astype(ms.int32), 2)
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x, y))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
