import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([1.0, 2.0])
expected = np.sqrt(0.5)
seen = ops.std(Tensor(x), axis=-1, ddof=1).asnumpy()
print("seen:    ", np.array2string(seen, precision=17))
print("expected:", expected)
assert seen.dtype == np.float64
np.testing.assert_allclose(seen, expected, rtol=1e-9)
print("no difference")
