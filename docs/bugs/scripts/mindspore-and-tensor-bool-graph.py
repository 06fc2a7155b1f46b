import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def nested(x):
    turns = 0
    small = x.sum() < 3.0
    if small:
        if turns < 5:
            return x + 1.0
    return x


def joined(x):
    turns = 0
    small = x.sum() < 3.0
    if small and turns < 5:
        return x + 1.0
    return x


x = Tensor(np.ones((2,), np.float32))
print("two ifs, Graph:", ms.jit(nested, capture_mode="ast", fullgraph=True)(x))
print("one if with and, PyNative:", joined(x))
raised = []
for full in (True, False):
    try:
        print("Graph:", ms.jit(joined, capture_mode="ast", fullgraph=full)(x))
    except TypeError as error:
        raised.append(f"fullgraph={full}: {str(error).splitlines()[1]}")
assert not raised, raised
print("no difference")
