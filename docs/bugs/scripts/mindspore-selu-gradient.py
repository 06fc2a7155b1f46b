import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([-4.0, -1.0, 0.5], np.float32))
gradient = ms.value_and_grad(lambda x: ops.selu(x).sum(), 0)(x)[1].asnumpy()

scale, alpha = 1.0507009873554805, 1.6732632423543772
expected = np.where(x.asnumpy() > 0, scale, scale * alpha * np.exp(x.asnumpy().astype(np.float64)))
print("gradient:", gradient)
print("expected:", expected)
np.testing.assert_allclose(gradient, expected, rtol=1.3e-6, atol=1e-5)
print("no difference")
