"""linear + gelu + rsqrt: torch.compile (aot_eager) got NaN or Inf wrong in the gradient."""

import numpy as np
import torch
import torch.nn.functional as F

x = torch.from_numpy(np.full((1,), 1, np.float32))
y = torch.from_numpy(np.full((1,), 1, np.float32)).requires_grad_()
z = torch.from_numpy(np.array([[0.0]], np.float32))
w = torch.from_numpy(np.array([-0.0], np.float32))

c0 = torch.from_numpy(np.array([1.0], np.float32))

def forward(x, y, z, w):
    a = torch.add(x, y)
    b = F.linear(a, z, w)
    c = F.gelu(b, approximate="none")
    d = torch.rsqrt(c)
    return d, a


def loss(x, y, z, w, c0):
    d, a = forward(x, y, z, w)
    return (a * c0).sum()

print("torch", torch.__version__)

forward = torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)

got = torch.autograd.grad(loss(x, y, z, w, c0), [y], allow_unused=True)[0]
got = got.double().numpy(force=True)
expected = np.array([1.0])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
