import torch
import torch.nn.functional as F

print("torch", torch.__version__)
x, weight = torch.ones(1, 3, 2), torch.ones(2, 2, requires_grad=True)


def gradient(call, mode):
    function = torch.compile(lambda: call(F.linear(x, weight)), backend=mode, fullgraph=True)
    return torch.autograd.grad(function().sum(), weight)[0]


print("sign, compiled:", gradient(torch.sign, "aot_eager"))
print("sgn, eager:", gradient(torch.sgn, "eager"))
try:
    print("sgn, compiled:", gradient(torch.sgn, "aot_eager"))
except Exception as error:
    raise AssertionError("the gradient of sgn raises, compiled") from error
print("no difference")
