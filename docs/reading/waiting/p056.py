"""mindspore.ops.gather: MindSpore Graph mode killed the process."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1, 1, 1), 1, np.float32), ms.float32)

def forward(x):
    def body(turn, c187):
        b187 = ops.gather(c187, (ops.arange(c187.shape[1]) - -2) % c187.shape[1], 1)
        b188 = ops.gather(b187, (ops.arange(b187.shape[2]) - -2) % b187.shape[2], 2)
        return b188
    a = ops.ForiLoop()(0, 2, body, x)
    return a

print("mindspore", ms.__version__)

print("the process dies of SIGSEGV here", flush=True)

ms.jit(forward, capture_mode="ast", fullgraph=True)(x)

print("no difference")
