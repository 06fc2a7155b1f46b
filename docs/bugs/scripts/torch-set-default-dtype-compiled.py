import torch

print("torch", torch.__version__)
x = torch.ones(3)


def forward(x):
    torch.set_default_dtype(torch.float64)
    return x * 2


def after(backend):
    torch.set_default_dtype(torch.float32)
    torch.compile(forward, backend=backend, fullgraph=True)(x)
    found = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    return found


eager, seen = after("eager"), after("aot_eager")
print("backend eager:", eager, "backend aot_eager:", seen)
assert seen == torch.float64, f"after the call the default is {seen}"
print("no difference")
