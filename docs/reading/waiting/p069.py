"""clone + select + sub_: MindSpore Graph mode raised where another mode answers."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((1, 1), 1, np.float32), ms.float32)
y = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x, y):
    a = x.copy()
    b = next(iter(a))
    b[...] = b - y
    c = b
    return a

print("mindspore", ms.__version__)

print("mindspore-pynative:", forward(x, y))

try:
    print(ms.jit(forward, capture_mode="ast", fullgraph=True)(x, y))
except Exception as error:
    raise AssertionError("mindspore-graph raises") from error

print("no difference")
