"""next + slice: MindSpore Graph mode returned another shape."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((2,), 1, np.float32), ms.float32)

def forward(x):
    a = next(iter((x, x)))
    b = x[1:3:1]
    return a, b

print("mindspore", ms.__version__)

got = ms.jit(forward, capture_mode="ast", fullgraph=True)(x)
got = got[1]
print("shape:", tuple(got.shape))
assert tuple(got.shape) == (1,), tuple(got.shape)

print("no difference")
