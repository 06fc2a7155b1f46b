import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
n = 2**60 + 1
seen = int((Tensor(np.array([n], np.int64)) // Tensor(np.array([3], np.int64))).asnumpy()[0])
print(n, "// 3 =", seen, "expected:", n // 3)
assert seen == n // 3, f"{n} // 3 is {seen}"
print("no difference")
