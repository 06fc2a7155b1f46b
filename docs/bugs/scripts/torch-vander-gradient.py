import torch

print("torch", torch.__version__)
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(expected,) = torch.autograd.grad(torch.linalg.vander(x, N=3).sum(), x)
print("linalg.vander:", expected)
try:
    print("vander:", torch.autograd.grad(torch.vander(x, 3).sum(), x))
except RuntimeError as error:
    raise AssertionError("the gradient of torch.vander raises") from error
print("no difference")
