import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def forward(x):
    while ops.sum(x) > 1.0:
        x = x * 0.5
    return ops.sqrt(x), x


def loss(x):
    unused, halved = forward(x)
    return halved.sum()


x = Tensor(np.array([0.0, 2.0], np.float32))
eager = ms.grad(loss)(x).asnumpy()
graph = ms.jit(ms.grad(loss), capture_mode="ast", fullgraph=True)(x).asnumpy()
print("PyNative:", eager, "Graph:", graph)
np.testing.assert_array_equal(eager, [0.5, 0.5])
np.testing.assert_array_equal(graph, [0.5, 0.5])
print("no difference")
