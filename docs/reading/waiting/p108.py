"""cat + select: MindSpore Graph mode returned another shape."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1, 1), 1, np.float32), ms.float32)
y = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x, y):
    a = ops.cat((x, x), 1)
    b = next(iter(y))
    return b, a

print("mindspore", ms.__version__)

got = ms.jit(forward, capture_mode="ast", fullgraph=True)(x, y)
got = got[1]
print("shape:", tuple(got.shape))
assert tuple(got.shape) == (1, 2), tuple(got.shape)

print("no difference")
