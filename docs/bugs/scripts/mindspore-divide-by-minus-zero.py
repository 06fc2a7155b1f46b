import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.div(1.0, Tensor(np.array([-0.0], np.float32))).asnumpy()
print("1 / -0.0 =", seen)
np.testing.assert_array_equal(seen, np.array([-np.inf], np.float32))
print("no difference")
