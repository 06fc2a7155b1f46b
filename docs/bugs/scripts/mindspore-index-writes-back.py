import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))
chosen = x[Tensor([0, 2])]
x[2] = 5.0
print("chosen after a write to x:", chosen.asnumpy())
np.testing.assert_array_equal(chosen.asnumpy(), [1.0, 3.0])
chosen[0] = 9.0
print("x after a write to what was chosen:", x.asnumpy())
np.testing.assert_array_equal(x.asnumpy(), [1.0, 2.0, 5.0])
print("no difference")
