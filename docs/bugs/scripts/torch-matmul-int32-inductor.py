import numpy as np
import torch

print("torch", torch.__version__)
x = torch.ones((2, 1, 2), dtype=torch.int32)
y = torch.ones((2, 2, 2), dtype=torch.int32)


def forward(x, y):
    return torch.matmul(x, y)


seen = torch.compile(forward, backend="inductor", fullgraph=True)(x, y)
print("eager:", forward(x, y).dtype, "inductor:", seen.dtype)
assert seen.dtype == torch.int32, f"inductor returns {seen.dtype}"
print("no difference")
