import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
zero, one = np.array([0.0], np.float32), np.array([1.0], np.float32)
seen = ops.nextafter(Tensor(zero), Tensor(one)).asnumpy()
print("bits:", seen.view(np.uint32), "expected:", np.nextafter(zero, one).view(np.uint32))
assert seen.view(np.uint32)[0] == 1, "the number after 0 is 0"
print("no difference")
