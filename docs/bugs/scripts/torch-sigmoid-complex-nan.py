import numpy as np
import torch

print("torch", torch.__version__)
points = [-20 + 1j, -90 + 2j, -120 + 2j]
expected = [np.exp(z) / (1 + np.exp(z)) for z in points]
seen = torch.sigmoid(torch.tensor(points, dtype=torch.complex64))
print("seen:    ", seen.tolist())
print("expected:", expected)
np.testing.assert_allclose(seen.numpy(), expected, rtol=1e-4, atol=1e-37)
print("no difference")
