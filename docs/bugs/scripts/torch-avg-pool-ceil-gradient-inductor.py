import torch
import torch.nn.functional as F

print("torch", torch.__version__)
x = torch.ones(1, 1, 3, 3)


def gradient(mode):
    leaf = x.clone().requires_grad_()
    pool = torch.compile(
        lambda x: F.avg_pool2d(x, 2, ceil_mode=True), backend=mode, fullgraph=True
    )
    pool(leaf).sum().backward()
    return leaf.grad


eager, seen = gradient("eager"), gradient("inductor")
print("eager:", eager, "inductor:", seen)
# The windows of a pool of ones sum to 1 each, and there are four.
assert eager.sum() == 4
torch.testing.assert_close(seen, eager)
print("no difference")
