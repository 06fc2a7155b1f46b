"""conv_transpose1d + conv_transpose2d: MindSpore Graph mode raised where another mode answers."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, nn

x = Tensor(np.full((1, 1, 1), 1, np.float32), ms.float32)
y = Tensor(np.full((1, 4, 1), 1, np.float32), ms.float32)
z = Tensor(np.full((4,), 1, np.float32), ms.float32)
w = Tensor(np.full((1, 4, 1, 1), 1, np.float32), ms.float32)
x1 = Tensor(np.full((4, 2, 1, 1), 1, np.float32), ms.float32)

def setup(y, z, x1):
    global conv_transpose1d_a, conv_transpose2d_b
    conv_transpose1d_a = nn.Conv1dTranspose(y.shape[0], y.shape[1] * 1, y.shape[2], stride=1, pad_mode="pad", padding=0, dilation=1, group=1, weight_init=y, dtype=y.dtype, has_bias=True, bias_init=z)
    conv_transpose2d_b = nn.Conv2dTranspose(x1.shape[0], x1.shape[1] * 2, tuple(x1.shape[2:]), stride=1, pad_mode="pad", padding=0, dilation=1, group=2, weight_init=x1, dtype=x1.dtype, has_bias=True, bias_init=z)


def forward(x, y, z, w, x1):
    a = conv_transpose1d_a(x)
    b = conv_transpose2d_b(w)
    return a, b

print("mindspore", ms.__version__)

setup(y, z, x1)

print("mindspore-pynative:", forward(x, y, z, w, x1))

try:
    print(ms.jit(forward, capture_mode="ast", fullgraph=True)(x, y, z, w, x1))
except Exception as error:
    raise AssertionError("mindspore-graph raises") from error

print("no difference")
