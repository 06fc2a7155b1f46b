import torch

print("torch", torch.__version__)


def windows(x):
    return torch.relu(x).unfold(0, 3, 1)


weights = torch.arange(1.0, 13.0).reshape(4, 3)
expected = torch.zeros(6)
for i in range(4):
    expected[i : i + 3] += weights[i]
seen = {}
for name, function in (
    ("eager", windows),
    ("compiled", torch.compile(windows, backend="aot_eager", fullgraph=True)),
):
    x = torch.arange(1.0, 7.0).requires_grad_()
    loss = (function(x) * weights).sum()
    seen[name] = torch.autograd.grad(loss, x)[0]
    print(name, seen[name].tolist())
print("expected", expected.tolist())
assert torch.equal(seen["eager"], expected), "eager mode is wrong"
assert torch.equal(seen["compiled"], expected), f"{seen['compiled']} in place of {expected}"
print("no difference")
