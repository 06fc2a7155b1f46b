import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def chosen(x):
    if ops.log(x).sum() > 0.0:
        return (x * 2.0).sum()
    return (x * 3.0).sum()


def masked(x):
    return (ops.where(ops.log(x) > 0.0, x * 2.0, x * 3.0)).sum()


def numbered(x):
    return (x * ops.argmax(ops.log(x))).sum()


x = Tensor(np.array([0.0, 2.0], np.float32))
wrong = []
for function, expected in ((chosen, [3, 3]), (masked, [3, 2]), (numbered, [1, 1])):
    eager = ms.grad(function)(x).asnumpy()
    graph = ms.jit(ms.grad(function), capture_mode="ast", fullgraph=True)(x).asnumpy()
    print(function.__name__, "PyNative:", eager, "Graph:", graph)
    assert np.array_equal(eager, expected)
    if not np.array_equal(graph, expected):
        wrong.append(f"{function.__name__}: {graph} in place of {eager}")
assert not wrong, wrong
print("no difference")
