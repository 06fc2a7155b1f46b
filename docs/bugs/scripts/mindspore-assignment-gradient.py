import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x, y = Tensor([2.0, 3.0], ms.float32), Tensor([5.0, 7.0], ms.float32)


def forward(x, y):
    a = x.copy()
    a[...] = a * y
    return a.sum()


print("value:", forward(x, y), "of", 2 * 5 + 3 * 7)
seen = ms.grad(forward, 1)(x, y).asnumpy()
print("gradient of y:", seen)
print("expected:     ", x)
np.testing.assert_allclose(seen, [2.0, 3.0], rtol=1e-5)
print("no difference")
