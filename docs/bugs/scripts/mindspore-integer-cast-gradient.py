import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def whole(x):
    return x.astype(ms.int32).astype(ms.float32).sum()


def truth(x):
    return x.astype(ms.bool_).astype(ms.float32).sum()


def cut(x):
    return ops.trunc(x).sum()


x = Tensor(np.array([1.5, -2.5], np.float32))
wrong = []
for function in (cut, whole, truth):
    for mode in ("PyNative", "Graph"):
        gradient = ms.grad(function)
        if mode == "Graph":
            gradient = ms.jit(gradient, capture_mode="ast", fullgraph=True)
        got = gradient(x).asnumpy()
        print(function.__name__, "value:", function(x), f"gradient, {mode}:", got)
        if not np.array_equal(got, [0, 0]):
            wrong.append(f"{function.__name__}, {mode}: {got}")
assert not wrong, wrong
print("no difference")
