"""torch.Tensor.addcmul_: PyTorch eager and torch.compile (aot_eager) gave a wrong gradient."""

import numpy as np
import torch

x = torch.from_numpy(np.full((1,), 1, np.float32))
storage0 = torch.from_numpy(np.array([1.0], np.float32))
y = storage0[:1].view((1,))
z = storage0[:1].view((1,)).requires_grad_()

c0 = torch.from_numpy(np.array([1.0], np.float32))

def forward(x, y, z):
    a = x.addcmul_(y, z, value=1)
    return a


def loss(x, y, z, c0):
    a = forward(x, y, z)
    return (a * c0).sum()

print("torch", torch.__version__)

got = torch.autograd.grad(loss(x, y, z, c0), [z], allow_unused=True)[0]
got = got.double().numpy(force=True)
expected = np.array([0.0])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
