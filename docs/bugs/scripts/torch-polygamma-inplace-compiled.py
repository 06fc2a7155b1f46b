import torch

print("torch", torch.__version__)
x = torch.tensor([1.0, 2.0], dtype=torch.float32)


def forward(x):
    return x.clone().polygamma_(1)


print("eager:", forward(x))
try:
    seen = torch.compile(forward, backend="aot_eager", fullgraph=True)(x)
except Exception as error:
    raise AssertionError(f"compiled, it raises: {str(error)[:120]}") from error
assert torch.equal(seen, forward(x))
print("no difference")
