import torch

print("torch", torch.__version__)


def forward(x):
    used = x * 2
    unused = torch.log(x)
    return used, unused


seen = {}
for name, function in (
    ("eager", forward),
    ("compiled", torch.compile(forward, backend="aot_eager", fullgraph=True)),
):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    used, unused = function(x)
    seen[name] = torch.autograd.grad(used.sum(), x)[0]
    print(name, seen[name])
assert seen["eager"].tolist() == [2.0, 2.0]
assert not seen["compiled"].isnan().any(), "the gradient of 2 x is NaN"
print("no difference")
