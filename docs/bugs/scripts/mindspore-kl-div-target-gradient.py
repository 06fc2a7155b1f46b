import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
logits = Tensor(np.array([-1.0, -0.5], np.float32))
target = Tensor(np.array([0.25, 0.75], np.float32))


def loss(logits, target):
    return ops.kl_div(logits, target, "sum")


gradient = ms.value_and_grad(loss, 1)(logits, target)[1].asnumpy()
expected = np.log([0.25, 0.75]) + 1 - logits.asnumpy().astype(np.float64)
print("gradient of the target:", gradient, "expected:", expected)
np.testing.assert_allclose(gradient, expected, rtol=1e-5)
print("no difference")
