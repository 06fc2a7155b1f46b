import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x, index = Tensor(np.zeros((3, 2), np.float32)), Tensor([1], ms.int32)
print("function:", ops.index_fill(x, 0, index, 2.0).asnumpy().tolist())
try:
    seen = ops.IndexFill()(x, 0, index, 2.0).asnumpy()
except TypeError as error:
    raise AssertionError(f"a number is documented, and refused: {error}") from error
np.testing.assert_array_equal(seen, [[0, 0], [2, 2], [0, 0]])
print("no difference")
