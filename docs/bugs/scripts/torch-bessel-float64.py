import math

import numpy as np
import torch

print("torch", torch.__version__)
x = 5.009
t = np.linspace(0, np.pi, 2001)
values = np.cos(x * np.sin(t))
integral = (values.sum() - (values[0] + values[-1]) / 2) * (t[1] - t[0]) / np.pi

z = -2.1
f = f_term = 1.0
g = g_term = z
for k in range(1, 30):
    f_term *= z**3 / ((3 * k - 1) * (3 * k))
    g_term *= z**3 / ((3 * k) * (3 * k + 1))
    f += f_term
    g += g_term
series = f * 3 ** (-2 / 3) / math.gamma(2 / 3) - g * 3 ** (-1 / 3) / math.gamma(1 / 3)

expected = np.array([integral, series])
seen = np.array(
    [
        torch.special.bessel_j0(torch.tensor(x, dtype=torch.float64)).item(),
        torch.special.airy_ai(torch.tensor(z, dtype=torch.float64)).item(),
    ]
)
print("bessel_j0, airy_ai: seen", seen, "expected", expected)
np.testing.assert_allclose(seen, expected, rtol=1e-7, atol=1e-9)
print("no difference")
