import numpy as np
import torch

print("torch", torch.__version__)
x = torch.tensor([np.nan, np.inf, 1.0], dtype=torch.float32)


def forward(x):
    return x * 0, x * 0.0


compiled = torch.compile(forward, backend="inductor", fullgraph=True)
with_int, with_float = compiled(x)
print("eager:", forward(x)[0], "inductor:", with_int, "inductor, times 0.0:", with_float)
assert torch.equal(torch.isnan(forward(x)[0]), torch.isnan(with_int)), "NaN * 0 is 0"
print("no difference")
