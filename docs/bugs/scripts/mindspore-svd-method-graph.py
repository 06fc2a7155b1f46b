import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[2.0, 0.0], [0.0, 3.0]]), ms.float32)


@ms.jit
def function(x):
    return ops.svd(x, compute_uv=False).sum()


@ms.jit
def method(x):
    return x.svd(compute_uv=False).sum()


print("values:", function(x), method(x))
print("Graph, gradient of the function:", ms.grad(function)(x).asnumpy().tolist())
seen = ms.grad(method)(x).asnumpy()
print("Graph, gradient of the method:  ", seen.tolist())
np.testing.assert_allclose(seen, np.eye(2), rtol=1e-5, atol=1e-6)
print("no difference")
