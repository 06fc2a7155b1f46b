import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
try:
    seen = ops.matrix_diag_part(x, 0, Tensor(0.0, ms.float32)).asnumpy()
except TypeError as error:
    raise AssertionError(f"an int is documented, and refused: {error}") from error
np.testing.assert_array_equal(seen, [1.0, 4.0])
print("no difference")
