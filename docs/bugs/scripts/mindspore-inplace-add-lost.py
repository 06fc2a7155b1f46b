import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
y = Tensor(np.array([1.0, 2.0], np.float32)) * 1
y.add_(1.0)
print("after add_(1.0):", y.asnumpy())
np.testing.assert_allclose(y.asnumpy(), [2.0, 3.0])
print("no difference")
