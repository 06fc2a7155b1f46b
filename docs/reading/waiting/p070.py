"""mindspore.ops.csr_softmax: MindSpore Graph mode raised where another mode answers."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1, 1), 1, np.float32), ms.float32)

def forward(x):
    a = ops.csr_softmax(x.to_csr(), ms.float32).to_dense()
    return a

print("mindspore", ms.__version__)

print("mindspore-pynative:", forward(x))

try:
    print(ms.jit(forward, capture_mode="ast", fullgraph=True)(x))
except Exception as error:
    raise AssertionError("mindspore-graph raises") from error

print("no difference")
