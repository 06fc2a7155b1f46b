import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.ones((4, 3), np.float32))


def forward(x):
    rows = x[x[:, 0] > 5.0]
    return ops.narrow(rows, 1, 1, 2)


print("PyNative:", forward(x).shape)
try:
    seen = ms.jit(forward)(x).shape
except ValueError as error:
    raise AssertionError(f"Graph mode raises: {str(error).splitlines()[0]}") from error
print("Graph:", seen)
assert seen == (0, 2), seen
print("no difference")
