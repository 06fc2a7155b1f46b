import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.ones((1,), np.float32))


@ms.jit
def forward(x):
    return x.expand((2, 3, 4))


print("PyNative:", x.expand((2, 3, 4)).shape)
try:
    print("Graph:", forward(x).shape)
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {str(error).splitlines()[0]}") from error
print("no difference")
