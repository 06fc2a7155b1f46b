import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([2**53, 1], np.int64))
seen = int(ops.sum(x).asnumpy())
print("sum:", seen, "expected:", 2**53 + 1)
assert seen == 2**53 + 1, f"the sum of 2**53 and 1 is {seen}"
print("no difference")
