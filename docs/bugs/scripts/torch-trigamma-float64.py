import numpy as np
import torch

print("torch", torch.__version__)
x = np.array([1.0, 0.5])
expected = np.array([np.pi**2 / 6, np.pi**2 / 2])
seen = torch.polygamma(1, torch.tensor(x)).numpy()
print("seen:    ", [f"{one:.16g}" for one in seen])
print("expected:", [f"{one:.16g}" for one in expected])
np.testing.assert_allclose(seen, expected, rtol=1e-11)
print("no difference")
