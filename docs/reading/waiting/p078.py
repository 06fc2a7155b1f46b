"""mindspore.ops.cosine_similarity: MindSpore PyNative moved global state."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1, 1), 1, np.float32), ms.float32)

def forward(x):
    a = ops.cosine_similarity(x, x, dim=1, eps=1e-08)
    return a

print("mindspore", ms.__version__)

ms.runtime.launch_blocking()
before = [bool(np.float32(1e-40) * np.float32(1) == 0)]
forward(x)
after = [bool(np.float32(1e-40) * np.float32(1) == 0)]
assert after == before, "the call moved: flushing of subnormals"

print("no difference")
