import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x, y = np.array([1e10], np.float32), np.array([3.0], np.float32)
seen = ops.fmod(Tensor(x), Tensor(y)).asnumpy()
print("fmod:", seen, "remainder:", ops.remainder(Tensor(x), Tensor(y)).asnumpy(), "expected:", np.fmod(x, y))
np.testing.assert_array_equal(seen, np.fmod(x, y))
print("no difference")
