"""next + view: MindSpore Graph mode returned another shape."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((64,), 1, np.float32), ms.float32)

def forward(x):
    a = next(iter((x, x)))
    b = x.view((-1, 1, 4, 16))
    return a, b

print("mindspore", ms.__version__)

got = ms.jit(forward, capture_mode="ast", fullgraph=True)(x)
got = got[1]
print("shape:", tuple(got.shape))
assert tuple(got.shape) == (1, 1, 4, 16), tuple(got.shape)

print("no difference")
