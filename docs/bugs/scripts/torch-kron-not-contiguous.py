import numpy as np
import torch

print("torch", torch.__version__)
a = torch.arange(6.0).reshape(2, 3).t()
b = torch.arange(12.0).reshape(2, 2, 3).permute(2, 0, 1)
print("contiguous:", torch.kron(a.contiguous(), b.contiguous()).shape)
try:
    seen = torch.kron(a, b)
except RuntimeError as error:
    raise AssertionError(f"kron of strided operands raises: {error}") from error
assert torch.equal(seen, torch.kron(a.contiguous(), b.contiguous()))
print("no difference")
