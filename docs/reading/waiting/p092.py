"""clone + narrow + sigmoid_: PyTorch eager and torch.compile (aot_eager) gave wrong values."""

import numpy as np
import torch

x = torch.from_numpy(np.full((1, 1, 1, 2), 1, np.float32))

def forward(x):
    a = torch.clone(x)
    b = torch.index_select(a, 3, torch.arange(0, 0 + 2))
    c = b.sigmoid_()
    return a

print("torch", torch.__version__)

got = forward(x)
got = got.double().numpy(force=True)
expected = np.array([[[[0.7310585786300049, 0.7310585786300049]]]])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
