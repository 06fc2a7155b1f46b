"""mindspore.mint.ones_like: MindSpore PyNative raised where another mode answers."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, mint

x = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x):
    a = mint.ones_like(x, dtype=None)
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
