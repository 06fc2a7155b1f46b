"""torch.combinations: torch.compile (aot_eager) raised where another mode answers."""

import numpy as np
import torch

x = torch.from_numpy(np.full((2,), 1, np.float32))

def forward(x):
    a = torch.combinations(x, 2, False)
    return a

print("torch", torch.__version__)

print("torch-eager:", forward(x))

try:
    print(torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)(x))
except Exception as error:
    raise AssertionError("torch-aot raises") from error

print("no difference")
