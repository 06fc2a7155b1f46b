import torch

print("torch", torch.__version__)
x = torch.arange(1.0, 121.0).reshape(2, 3, 4, 5)
memory = torch.full((3, 120), -1.0)
out = memory[1].view(3, 2, 4, 5).transpose(0, 1)  # all of its memory is the middle row
expected = torch.tril(x)
torch.tril(x, out=out)
wrong = int((out != expected).sum())
outside = int((memory[0] != -1).sum() + (memory[2] != -1).sum())
print("elements of out that are wrong:", wrong, "of", out.numel())
print("elements written outside out:", outside)
assert wrong == 0, "torch.tril(x, out=out) gives other numbers than torch.tril(x)"
assert outside == 0, "torch.tril(x, out=out) writes outside out"
print("no difference")
