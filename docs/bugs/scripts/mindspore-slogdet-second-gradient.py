import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[2.0, 1.0], [0.5, 3.0]]), ms.float64)
weight = Tensor(np.array([[1.0, 2.0], [3.0, 5.0]]), ms.float64)


def logarithm(x):
    return ops.slogdet(x)[1]


def slope(x):
    return (ms.grad(logarithm)(x) * weight).sum()


def transposed_inverse(x):
    return (ops.inverse(x).T * weight).sum()


inverse = np.linalg.inv(x.asnumpy())
np.testing.assert_allclose(ms.grad(logarithm)(x).asnumpy(), inverse.T, rtol=1e-11)
expected = -(inverse @ weight.asnumpy() @ inverse).T
print("expected:            ", expected.round(5).tolist())
print("by ops.inverse(x).T: ", ms.grad(transposed_inverse)(x).asnumpy().round(5).tolist())
np.testing.assert_allclose(ms.grad(transposed_inverse)(x).asnumpy(), expected, rtol=1e-11)
for mode, run in (("PyNative", ms.grad(slope)), ("Graph", ms.jit(ms.grad(slope)))):
    seen = run(x).asnumpy()
    print(f"{mode}:".ljust(21), seen.round(5).tolist())
    np.testing.assert_allclose(seen, expected, rtol=1e-11)
print("no difference")
