import torch

print("torch", torch.__version__)


def forward(x, y, z):
    return x.clone().addcmul_(y, z, value=2)


x, y, z = torch.tensor([16777217, 2]), torch.tensor([1, 2]), torch.tensor([2, 3])
expected = forward(x, y, z)
seen = torch.compile(forward, backend="inductor", fullgraph=True)(x, y, z)
print("eager:   ", expected.dtype, expected.tolist())
print("inductor:", seen.dtype, seen.tolist())
assert seen.dtype == expected.dtype, f"{seen.dtype} in place of {expected.dtype}"
assert seen.tolist() == expected.tolist(), f"{seen.tolist()} in place of {expected.tolist()}"
print("no difference")
