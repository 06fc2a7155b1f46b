import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def number(x):
    a = x + 1.5
    a[0] = 2.0
    return a


def ellipsis(x):
    a = x + 1.5
    a[..., 0] = 2.0
    return a


x = Tensor(np.ones((3,), np.float32))
compiled = {f.__name__: ms.jit(f, capture_mode="ast", fullgraph=True) for f in (number, ellipsis)}
print("a[0], Graph:", compiled["number"](x))
print("a[..., 0], PyNative:", ellipsis(x))
print("a[..., 0] of two axes, Graph:", compiled["ellipsis"](Tensor(np.ones((2, 3), np.float32))))
try:
    print("a[..., 0], Graph:", compiled["ellipsis"](x))
except ValueError as error:
    raise AssertionError(f"a[..., 0] = 2.0 raises: {str(error).splitlines()[0]}") from error
print("no difference")
