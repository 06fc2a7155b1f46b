import torch

print("torch", torch.__version__)


def in_place(x):
    return (x * 3.0).addcmul_(x, x, value=1).sum()


def plain(x):
    return torch.addcmul(x * 3.0, x, x, value=1).sum()


x = torch.tensor([1.0])
print("addcmul_, not compiled:", torch.func.hessian(in_place)(x))
compiled = torch.compile(torch.func.hessian(plain), backend="aot_eager", fullgraph=True)
print("addcmul, compiled:", compiled(x))
compiled = torch.compile(torch.func.hessian(in_place), backend="aot_eager", fullgraph=True)
try:
    got = compiled(x)
except RuntimeError as error:
    said = next(line for line in str(error).splitlines() if "got RuntimeError" in line)
    raise AssertionError(f"the compiled hessian of addcmul_ raises: {said.strip()}") from error
assert torch.equal(got, torch.tensor([[2.0]]))
print("no difference")
