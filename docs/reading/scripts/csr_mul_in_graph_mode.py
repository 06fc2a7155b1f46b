"""csr_mul: MindSpore Graph mode raised where another mode answers."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([[0.54784673, -0.92085314, -1.836106, -1.9338895],
 [1.253081, 1.6510223, 0.42654312, 0.9179862],
 [0.17449996, 1.7402897, 1.2634143, -1.989046]], np.float32), ms.float32)
y = Tensor(np.array([[0.034192767, 1.3597475, 1.2247211, -0.5103071],
 [-0.29796952, -0.5273842, 0.56972635, -0.056064438],
 [0.7468856, -1.8473248, 1.5665488, -0.09643216]], np.float32), ms.float32)

def forward(x, y):
    a = ops.csr_mul(x.to_csr(), y).to_dense()
    return a

print("mindspore", ms.__version__)

print("mindspore-pynative:", forward(x, y))

try:
    print(ms.jit(forward, capture_mode="ast", fullgraph=True)(x, y))
except Exception as error:
    raise AssertionError("mindspore-graph raises") from error

print("no difference")
