import numpy as np
import torch

print("torch", torch.__version__)
x = torch.tensor([[np.nan, 0.2, 0.3]], dtype=torch.float32)
y = torch.tensor([0])
seen = torch.nn.functional.multi_margin_loss(x, y)
written_out = torch.clamp(1 - x[0, 0] + x[0, 1:], min=0).sum() / 3
print("multi_margin_loss:", seen, "written out:", written_out)
assert bool(torch.isnan(seen)), "the loss of NaN is a number"
print("no difference")
