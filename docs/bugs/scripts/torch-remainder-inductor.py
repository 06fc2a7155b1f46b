import numpy as np
import torch

print("torch", torch.__version__)
x = torch.tensor([2.0, 4.0, 7.0, 1e10] * 8, dtype=torch.float32)
y = torch.tensor([0.1, 0.2, np.inf, 3.0] * 8, dtype=torch.float32)


def forward(x, y):
    return x % y


compiled = torch.compile(forward, backend="inductor", fullgraph=True, dynamic=False)
seen = compiled(x, y)
print("eager:", forward(x, y)[:4], "inductor:", seen[:4])
print("inductor, one element at a time:", [compiled(a, b).item() for a, b in zip(x[:4], y[:4])])
assert bool((seen < y).all()), "a remainder is not less than the divisor"
np.testing.assert_allclose(seen.numpy(), np.mod(x.double().numpy(), y.double().numpy()), rtol=1e-5)
print("no difference")
