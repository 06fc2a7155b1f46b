import numpy as np
import torch

print("torch", torch.__version__)
x = torch.tensor([1.0, 0.5, 0.7, 1.5], dtype=torch.float32)
y = torch.full((4,), 0.1, dtype=torch.float32)


def forward(x, y):
    return x // y


seen = torch.compile(forward, backend="inductor", fullgraph=True)(x, y)
expected = np.floor_divide(x.double().numpy(), y.double().numpy())
print("float64:", expected, "eager:", forward(x, y), "inductor:", seen)
np.testing.assert_array_equal(seen.numpy(), expected)
print("no difference")
