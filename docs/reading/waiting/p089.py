"""next: MindSpore Graph mode returned another structure."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x):
    a = next(iter((x, x)))
    return a

print("mindspore", ms.__version__)

got = ms.jit(forward, capture_mode="ast", fullgraph=True)(x)
assert not isinstance(got, tuple | list), type(got)

print("no difference")
