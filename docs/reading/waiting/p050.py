"""cat + for: torch.compile (aot_eager) got NaN or Inf wrong in the gradient."""

import numpy as np
import torch

x = torch.from_numpy(np.array([[-2.0]], np.float32)).requires_grad_()

c0 = torch.from_numpy(np.array([[1.0, -1.125]], np.float32))

def forward(x):
    a = torch.cat((x, x), 1)
    c299 = a
    for turn in range(2):
        b299 = torch.sqrt(input=c299)
        c299 = b299
    b = c299
    return a, b


def loss(x, c0):
    a, b = forward(x)
    return (a * c0).sum()

print("torch", torch.__version__)

forward = torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)

got = torch.autograd.grad(loss(x, c0), [x], allow_unused=True)[0]
got = got.double().numpy(force=True)
expected = np.array([[-0.125]])  # the same computation in float64
print("gradient:", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=5.2e-06, atol=1e-05)

print("no difference")
