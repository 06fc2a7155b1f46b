import numpy as np
import torch

print("torch", torch.__version__)
x = torch.tensor([np.nan, 1.0], dtype=torch.float32)


def forward(x):
    return torch.nn.functional.dropout(x, p=1.0, training=True)


eager = forward(x)
seen = torch.compile(forward, backend="inductor", fullgraph=True)(x)
print("eager:", eager, "inductor:", seen)
assert torch.equal(torch.isnan(eager), torch.isnan(seen)), "the modes differ"
print("no difference")
