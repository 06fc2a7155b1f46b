import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.mish(Tensor(np.array([90.0], np.float32))).asnumpy()
print("mish(90) =", seen)
np.testing.assert_allclose(seen, [90.0], rtol=1e-6)
print("no difference")
