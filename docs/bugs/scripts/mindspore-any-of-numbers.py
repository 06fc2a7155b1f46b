import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.any(Tensor(np.array([[1], [1]], np.int32)), axis=-1).asnumpy()
alone = ops.any(Tensor(np.array([[1.0]], np.float32)), axis=-1).asnumpy()
print("any of [[1], [1]]:", seen, "any of [[1.0]]:", alone)
assert alone.all(), "any([[1.0]]) is False"
assert seen.all(), f"any([[1], [1]]) is {seen}"
print("no difference")
