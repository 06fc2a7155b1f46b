"""where + sqrt: torch.compile (aot_eager) got NaN or Inf wrong in the gradient."""

import numpy as np
import torch

x = torch.from_numpy(np.full((1,), 1, np.float32))
y = torch.from_numpy(np.array([-3.0], np.float32)).requires_grad_()
z = torch.from_numpy(np.array([False], np.bool_))

c0 = torch.from_numpy(np.array([1.0], np.float32))

def forward(x, y, z):
    a = torch.where(z, x, y)
    b = torch.sqrt(a)
    return a, b


def loss(x, y, z, c0):
    a, b = forward(x, y, z)
    return (a * c0).sum()

print("torch", torch.__version__)

forward = torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)

got = torch.autograd.grad(loss(x, y, z, c0), [y], allow_unused=True)[0]
got = got.double().numpy(force=True)
expected = np.array([1.0])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
