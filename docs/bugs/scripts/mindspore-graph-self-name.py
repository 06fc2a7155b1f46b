import numpy as np
import mindspore as ms
from mindspore import Tensor, nn

print("mindspore", ms.__version__)


class Twice(nn.Cell):
    def construct(this, x):
        return this.factor * x

    factor = 2.0


x = Tensor(np.array([1.0, 2.0], np.float32))
for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    try:
        seen = Twice()(x).asnumpy()
    except TypeError as error:
        raise AssertionError(f"mode {mode} raises: {error}") from error
    np.testing.assert_array_equal(seen, [2.0, 4.0])
print("no difference")
