import torch
import torch.nn.functional as F

print("torch", torch.__version__)
x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(F.hardsigmoid(x).sum(), x)
print("gradient:", repr(slope.item()))
print("expected:", repr(1 / 6))
assert abs(slope.item() - 1 / 6) < 1e-12, "the gradient is of float32 grade"
print("no difference")
