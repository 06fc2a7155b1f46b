import numpy as np
import torch

print("torch", torch.__version__)
x = torch.tensor([np.nan, 0.5, np.nan, 0.25, np.nan], dtype=torch.float32)
seen = torch.special.legendre_polynomial_p(x, 3)
print("legendre_polynomial_p:", seen)
print("laguerre_polynomial_l:", torch.special.laguerre_polynomial_l(x, 3))
print("hermite_polynomial_h:", torch.special.hermite_polynomial_h(x, 3))
assert bool(torch.isnan(seen[[0, 2, 4]]).all()), "the polynomial of NaN is a number"
print("no difference")
