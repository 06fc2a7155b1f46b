import torch

print("torch", torch.__version__)
x = torch.arange(12.0).reshape(3, 4)
base = torch.full((3, 4), -1.0)
out = base[:, ::2]  # columns 0 and 2
torch.narrow_copy(x, 1, 1, 2, out=out)
print("expected:", x.narrow(1, 1, 2).tolist())
print("out:     ", out.tolist())
print("base:    ", base.tolist())
assert torch.equal(base[:, 1::2], torch.full((3, 2), -1.0)), "columns outside of out are written"
assert torch.equal(out, x.narrow(1, 1, 2)), "out has other numbers than x.narrow(1, 1, 2)"
print("no difference")
