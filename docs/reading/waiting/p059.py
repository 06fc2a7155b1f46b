"""slice: MindSpore Graph mode killed the process."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((12, 0, 72), 0.0, np.float32), ms.float32)

def forward(x):
    a = x[..., 1:3:1]
    return a

print("mindspore", ms.__version__)

print("the process dies of SIGFPE here", flush=True)

ms.jit(forward, capture_mode="ast", fullgraph=True)(x)

print("no difference")
