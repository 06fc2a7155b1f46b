import math

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
a, x = Tensor(np.array([1.0, 2.0])), Tensor(np.array([0.55, 0.7]))
seen = ops.igamma(a, x).asnumpy()
expected = [1 - math.exp(-0.55), 1 - 1.7 * math.exp(-0.7)]
print("seen:", seen, "expected:", expected, "off by:", np.abs(seen - expected).max())
np.testing.assert_allclose(seen, expected, rtol=1e-10)
print("no difference")
