import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def outer(c):
    return ops.relu(c)


def with_outer(x):
    return tuple(map(outer, (x, x)))


def with_list(x):
    def body(c):
        return ops.relu(c)

    return tuple([body(one) for one in (x, x)])


def with_inner(x):
    def body(c):
        return ops.relu(c)

    return tuple(map(body, (x, x)))


x = Tensor(np.full((1,), 1.0, np.float32))
print("function of the module, Graph:", ms.jit(with_outer, capture_mode="ast")(x))
print("list comprehension, Graph:", ms.jit(with_list, capture_mode="ast")(x))
print("function within, PyNative:", with_inner(x))
try:
    print("function within, Graph:", ms.jit(with_inner, capture_mode="ast")(x))
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {str(error).splitlines()[0]}") from error
print("no difference")
