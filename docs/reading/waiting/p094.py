"""next + mean: MindSpore Graph mode returned another shape."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x):
    a = next(iter((x, x)))
    b = ops.mean(x, axis=-1, keep_dims=False)
    return a, b

print("mindspore", ms.__version__)

got = ms.jit(forward, capture_mode="ast", fullgraph=True)(x)
got = got[1]
print("shape:", tuple(got.shape))
assert tuple(got.shape) == (), tuple(got.shape)

print("no difference")
