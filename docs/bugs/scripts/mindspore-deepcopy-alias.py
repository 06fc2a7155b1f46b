import copy

import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor(np.array([1.0, 2.0], np.float32))
y = copy.deepcopy(x)
y[0] = 9.0
print("x after a write to its deep copy:", x.asnumpy())
np.testing.assert_array_equal(x.asnumpy(), [1.0, 2.0])
print("no difference")
