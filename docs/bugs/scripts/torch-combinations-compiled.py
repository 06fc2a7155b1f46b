import torch

print("torch", torch.__version__)
x = torch.tensor([1.0, 2.0, 3.0])


def pairs(x):
    return torch.combinations(x)


print("eager:", pairs(x))
try:
    print("compiled:", torch.compile(pairs, backend="aot_eager", fullgraph=True)(x))
except Exception as error:
    raise AssertionError("torch.combinations raises when it is compiled") from error
print("no difference")
