import torch

print("torch", torch.__version__)
mask = torch.tensor([[True, False], [False, True]])


def forward(x):
    y = x + 1
    y.t().masked_fill_(mask, 0.0)
    return y.reshape(4)


x = torch.arange(4.0).reshape(2, 2)
print("eager:", forward(x))
try:
    print("compiled:", torch.compile(forward, backend="aot_eager", fullgraph=True)(x))
except Exception as error:
    raise AssertionError("reshape raises when it is compiled") from error
print("no difference")
