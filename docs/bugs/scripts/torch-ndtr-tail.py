import math

import numpy as np
import torch

print("torch", torch.__version__)
points = [-3.0, -5.0, -6.0, -8.0]
expected = [math.erfc(-x / math.sqrt(2)) / 2 for x in points]
seen = torch.special.ndtr(torch.tensor(points))
print("seen:        ", seen.tolist())
print("expected:    ", expected)
print("exp(log_ndtr):", torch.special.log_ndtr(torch.tensor(points)).exp().tolist())
np.testing.assert_allclose(seen.numpy(), expected, rtol=1e-3)
print("no difference")
