"""where + as_strided + clamp_: torch.compile (aot_eager) raised in the gradient only."""

import numpy as np
import torch

x = torch.from_numpy(np.full((1,), 1, np.float32)).requires_grad_()
y = torch.from_numpy(np.full((1,), 1, np.float32))

c0 = torch.from_numpy(np.array([[[1.0]]], np.float32))

def forward(x, y):
    a = torch.clone(x)
    b = torch.reciprocal(a)
    c = torch.gt(a, 0.0)
    d = torch.add(b, y)
    e = torch.where(c, d, a)
    a1 = e.clone(memory_format=torch.contiguous_format).as_strided((1, 1, 1), (48, 1, 1), 0)
    e[...] = torch.clamp(e, -1.0, 1.0)
    a2 = e
    return a2, a1


def loss(x, y, c0):
    a2, a1 = forward(x, y)
    return (a1 * c0).sum()

print("torch", torch.__version__)

forward = torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)

try:
    print(torch.autograd.grad(loss(x, y, c0), [x], allow_unused=True))
except Exception as error:
    raise AssertionError("the gradient raises in torch-aot") from error

print("no difference")
