import numpy as np
import torch

print("torch", torch.__version__)


def gradient(mode):
    x = torch.tensor([np.nan, 0.5], dtype=torch.float32, requires_grad=True)
    function = torch.compile(lambda x: torch.logit(x, eps=0.2), backend=mode, fullgraph=True)
    function(x).sum().backward()
    return x.grad


eager, seen = gradient("eager"), gradient("inductor")
print("eager:", eager, "inductor:", seen)
assert torch.equal(torch.isnan(eager), torch.isnan(seen)), "the gradient of NaN is 0"
print("no difference")
