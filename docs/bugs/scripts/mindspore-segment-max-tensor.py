import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
segments, number = Tensor([0, 1, 0, 1], ms.int32), Tensor(2, ms.int32)
print("sum:", ops.unsorted_segment_sum(x, segments, number).asnumpy().tolist())
try:
    seen = ops.unsorted_segment_max(x, segments, number).asnumpy()
except ValueError as error:
    raise AssertionError(f"a 0-D tensor is documented, and refused: {error}") from error
np.testing.assert_array_equal(seen, [[4, 5], [6, 7]])
print("no difference")
