import numpy as np
import torch

print("torch", torch.__version__)


def gradient(mode):
    x = torch.tensor([np.nan, 1.0] * 8, dtype=torch.float32, requires_grad=True)
    torch.compile(
        lambda x: torch.nn.functional.smooth_l1_loss(x, torch.zeros_like(x)),
        backend=mode,
        fullgraph=True,
    )(x).backward()
    return x.grad


eager, seen = gradient("eager"), gradient("inductor")
print("eager:", eager[:2], "inductor:", seen[:2])
assert torch.equal(torch.isnan(eager), torch.isnan(seen)), "the gradient of NaN is 0"
print("no difference")
