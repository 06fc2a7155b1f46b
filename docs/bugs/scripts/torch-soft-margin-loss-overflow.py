import numpy as np
import torch

print("torch", torch.__version__)
F = torch.nn.functional
for dtype, score in ((torch.float32, -90.0), (torch.float16, -12.0)):
    x, y = torch.tensor([score], dtype=dtype), torch.ones(1, dtype=dtype)
    seen = F.soft_margin_loss(x, y)
    other = F.binary_cross_entropy_with_logits(x, y)
    print(dtype, "soft_margin_loss:", seen, "binary_cross_entropy_with_logits:", other)
    np.testing.assert_allclose(seen.item(), np.logaddexp(0.0, -score), rtol=1e-2)
print("no difference")
