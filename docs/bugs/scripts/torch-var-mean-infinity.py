import numpy as np
import torch

print("torch", torch.__version__)
x = torch.tensor([np.inf, 1.0, 2.0], dtype=torch.float32)
_, seen = torch.var_mean(x)
print("var_mean:", seen, "mean:", torch.mean(x))
assert torch.equal(seen, torch.mean(x)), "two means of the same numbers"
print("no difference")
