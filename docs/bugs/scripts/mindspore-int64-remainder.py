import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)
n = 2**60 + 1
seen = int((Tensor(np.array([n], np.int64)) % Tensor(np.array([7], np.int64))).asnumpy()[0])
print(n, "% 7 =", seen, "expected:", n % 7)
assert seen == n % 7, f"{n} % 7 is {seen}"
print("no difference")
