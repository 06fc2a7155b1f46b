import numpy as np
import torch

print("torch", torch.__version__)
x = 5.009
t = np.linspace(0, np.pi, 2001)
values = np.cos(x * np.sin(t))
expected = (values.sum() - (values[0] + values[-1]) / 2) * (t[1] - t[0]) / np.pi
seen = torch.special.bessel_j0(torch.tensor(x, dtype=torch.float64)).item()
print("seen:    ", seen)
print("expected:", expected)
np.testing.assert_allclose(seen, expected, rtol=1e-7, atol=1e-9)
print("no difference")
