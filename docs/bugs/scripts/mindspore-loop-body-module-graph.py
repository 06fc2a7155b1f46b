import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)


def outer_body(turn, c):
    return ops.tanh(c)


def with_outer_body(x):
    return ops.ForiLoop()(0, 2, outer_body, x)


def with_inner_body(x):
    def body(turn, c):
        return ops.tanh(c)

    return ops.ForiLoop()(0, 2, body, x)


def with_inner_test(x):
    def test(c):
        return ops.sum(c) > 0.8

    def body(c):
        return c.tanh()

    return ops.WhileLoop()(test, body, x)


x = Tensor(np.full((1,), 1.0, np.float32))
print("body outside, Graph:", ms.jit(with_outer_body, capture_mode="ast", fullgraph=True)(x))
raised = []
for function in (with_inner_body, with_inner_test):
    print(f"{function.__name__}, PyNative:", function(x))
    try:
        print("Graph:", ms.jit(function, capture_mode="ast", fullgraph=True)(x))
    except (TypeError, ValueError) as error:
        raised.append(f"{function.__name__}: {str(error).splitlines()[0]}")
assert not raised, raised
print("no difference")
