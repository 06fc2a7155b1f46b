import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
row = ops.ones((2, 3), ms.float32)[1]
array = row.asnumpy()
row[0] = 9.0
print("the tensor:", row, "its array:", array)
np.testing.assert_array_equal(array, [9.0, 1.0, 1.0])
print("no difference")
