import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[2.0]], np.float32))
try:
    seen = ops.det(x).asnumpy()
except ValueError as error:
    raise AssertionError(f"det refuses a 1 x 1 matrix: {error}") from error
np.testing.assert_allclose(seen, 2.0)
print("no difference")
