"""flatten + transpose + exp_: torch.compile (aot_eager) raised where another mode answers."""

import numpy as np
import torch
from torch import nn

x = torch.from_numpy(np.full((1, 1, 1, 1), 1, np.float32))
y = torch.from_numpy(np.full((1,), 1, np.float32))

def setup(x, y):
    global conv2d_a
    conv2d_a = nn.Conv2d(x.shape[1] * 1, x.shape[0], tuple(x.shape[2:]), stride=1, padding=1, dilation=1, groups=1)
    conv2d_a.weight = nn.Parameter(x)
    conv2d_a.bias = nn.Parameter(y)


def forward(x, y):
    a = conv2d_a(x)
    b = torch.flatten(a, -2, -1)
    c = b.view_as(b).transpose_(1, 2)
    d = c.exp_()
    return d

print("torch", torch.__version__)

setup(x, y)

print("torch-eager:", forward(x, y))

try:
    print(torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)(x, y))
except Exception as error:
    raise AssertionError("torch-aot raises") from error

print("no difference")
