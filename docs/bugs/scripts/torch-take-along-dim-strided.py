import torch

print("torch", torch.__version__)
x = torch.tensor([[10.0, 30.0, 20.0], [60.0, 40.0, 50.0]])
indices = torch.tensor([[0, 3], [5, 1]]).t()
expected = torch.take_along_dim(x, indices.contiguous())
try:
    seen = torch.take_along_dim(x, indices)
except RuntimeError as error:
    raise AssertionError(f"take_along_dim of transposed indices raises: {error}") from error
assert torch.equal(seen, expected)
print("no difference")
