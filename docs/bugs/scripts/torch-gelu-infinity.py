import numpy as np
import torch

print("torch", torch.__version__)
x = torch.full((4,), np.inf, dtype=torch.float32)
seen = torch.nn.functional.gelu(x)
print("float32:", seen, "float64:", torch.nn.functional.gelu(x.double()))
print("tanh:", torch.nn.functional.gelu(x, approximate="tanh"))
assert bool(torch.isposinf(seen).all()), "gelu(inf) is not inf"
print("no difference")
