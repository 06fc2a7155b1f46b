import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
matrix = Tensor(np.array([[2.3, 1.1], [2.2, 3.7]]), ms.float64)
right = Tensor(np.array([[1.0], [0.7]]), ms.float64)


def forward(matrix, right):
    return ops.matrix_solve(matrix, right).sum()


solution = np.linalg.solve(matrix.asnumpy(), right.asnumpy())
print("value off by:", abs(float(forward(matrix, right).asnumpy()) - solution.sum()))
seen = [one.asnumpy() for one in ms.grad(forward, (0, 1))(matrix, right)]
adjoint = np.linalg.solve(matrix.asnumpy().T, np.ones((2, 1)))
for name, one, expected in zip(("matrix", "right"), seen, (-adjoint @ solution.T, adjoint)):
    print(f"gradient of {name}:", one.dtype, "off by", np.abs(one - expected).max())
assert all(one.dtype == np.float64 for one in seen), [str(one.dtype) for one in seen]
np.testing.assert_allclose(seen[0], -adjoint @ solution.T, rtol=1e-11)
np.testing.assert_allclose(seen[1], adjoint, rtol=1e-11)
print("no difference")
