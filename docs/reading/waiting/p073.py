"""clone + reshape + setitem_index: torch.compile (aot_eager) gave wrong values."""

import numpy as np
import torch

x = torch.from_numpy(np.full((2, 2, 1), 1, np.float32))
y = torch.from_numpy(np.full((1,), 1, np.bool_))
z = torch.from_numpy(np.full((1,), 1, np.int64))
w = torch.from_numpy(np.full((1,), 1, np.float32))

def forward(x, y, z, w):
    a = torch.transpose(x, 0, 2)
    b = a.masked_fill_(y, 0.0)
    c = torch.clone(x)
    d = torch.reshape(c, (4,))
    d[z] = w
    e = d
    return c

print("torch", torch.__version__)

got = torch.compile(forward, backend="aot_eager", fullgraph=True, dynamic=False)(x, y, z, w)
got = got.double().numpy(force=True)
expected = np.array([[[0.0],
  [1.0]],

 [[0.0],
  [0.0]]])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_allclose(got, expected, rtol=1.3e-06, atol=1e-05)

print("no difference")
