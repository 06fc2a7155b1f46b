import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[0.3, 1.1], [2.2, 0.7]]), ms.float64)
difference = x.asnumpy()[0] - x.asnumpy()[1]
distance = np.hypot(*difference)
print("value off by:", abs(float(ops.pdist(x).asnumpy()[0]) - distance))
expected = np.stack([difference, -difference]) / distance
seen = ms.grad(lambda x: ops.pdist(x).sum())(x).asnumpy()
print("gradient:", seen.dtype, [repr(float(one)) for one in seen[0]])
print("expected:", expected.dtype, [repr(float(one)) for one in expected[0]])
np.testing.assert_allclose(seen, expected, rtol=1e-11)
print("no difference")
