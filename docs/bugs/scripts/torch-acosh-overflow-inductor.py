import numpy as np
import torch

print("torch", torch.__version__)
x = torch.full((32,), 3e19, dtype=torch.float32)


def forward(x):
    return torch.acosh(x)


seen = torch.compile(forward, backend="inductor", fullgraph=True)(x)
print("eager:", forward(x)[0], "inductor:", seen[0])
np.testing.assert_allclose(seen.numpy(), np.arccosh(x.double().numpy()), rtol=1e-5)
print("no difference")
