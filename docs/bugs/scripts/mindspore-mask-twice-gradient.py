import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor([0.5, 2.0, -1.0], ms.float32)


def forward(x):
    mask = x > 0
    return (mask * x + mask * x * x).sum()


print("value:", forward(x))
print("Graph:", ms.jit(ms.grad(forward))(x))
try:
    seen = ms.grad(forward)(x).asnumpy()
except TypeError as error:
    text = str(error).splitlines()[0]
    raise AssertionError(f"PyNative raises in the gradient: {text}") from error
print("PyNative:", seen)
np.testing.assert_allclose(seen, [2.0, 5.0, 0.0], rtol=1e-5)
print("no difference")
