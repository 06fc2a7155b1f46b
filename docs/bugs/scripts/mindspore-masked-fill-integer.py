import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x, mask = Tensor(np.array([1.0], np.float32)), Tensor(np.array([True]))
print("with 2.0:", ops.masked_fill(x, mask, 2.0))
try:
    seen = ops.masked_fill(x, mask, 2).asnumpy()
except (TypeError, RuntimeError) as error:
    raise AssertionError(f"the number 2 is refused: {str(error).splitlines()[0]}") from error
np.testing.assert_array_equal(seen, np.array([2.0], np.float32))
print("no difference")
