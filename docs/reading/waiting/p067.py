"""mul + for + rsqrt: torch.compile (aot_eager) got NaN or Inf wrong in the gradient."""

import numpy as np
import torch

x = torch.from_numpy(np.array([-0.0], np.float32)).requires_grad_()
y = torch.from_numpy(np.full((1,), 1, np.float32))

c0 = torch.from_numpy(np.array([[[[1.0]]]], np.float32))

def forward(x, y):
    a = x.view((1, 1, 1, 1))
    b = torch.transpose(a, 1, 2)
    c = torch.mul(b, y)
    c147 = b
    for turn in range(2):
        b147 = torch.mul(c147, 8.0)
        b148 = torch.clamp(b147, -100.0, 100.0)
        c147 = b148
    d = c147
    e = torch.rsqrt(d)
    return c, e


def loss(x, y, c0):
    c, e = forward(x, y)
    return (c * c0).sum()

print("torch", torch.__version__)

forward = torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)

got = torch.autograd.grad(loss(x, y, c0), [x], allow_unused=True)[0]
got = got.double().numpy(force=True)
expected = np.array([1.0])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
