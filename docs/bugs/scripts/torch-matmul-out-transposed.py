import torch

print("torch", torch.__version__)
a = torch.arange(24.0).reshape(2, 3, 4)
v = torch.arange(4.0)
expected = torch.matmul(a, v)
out = torch.zeros(3, 2).t()
try:
    torch.matmul(a, v, out=out)
except RuntimeError as error:
    raise AssertionError(f"matmul into a transposed out raises: {error}") from error
assert torch.equal(out, expected)
print("no difference")
