import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))
print("int start:", x.narrow(0, 1, 2))
try:
    seen = x.narrow(0, Tensor(1), 2).asnumpy()
except TypeError as error:
    raise AssertionError(f"a Tensor is documented, and refused: {error}") from error
np.testing.assert_array_equal(seen, [2.0, 3.0])
print("no difference")
