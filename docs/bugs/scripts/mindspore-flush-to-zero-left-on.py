import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([[0.5]], np.float32))
ms.runtime.launch_blocking()
before = bool(np.float32(1e-40) * np.float32(1) == 0)
ops.cosine_similarity(x, x, dim=1, eps=1e-08)
after = bool(np.float32(1e-40) * np.float32(1) == 0)
print("1e-40 * 1 is 0, before:", before, "after:", after)
assert after == before, "NumPy flushes subnormal numbers after the call"
print("no difference")
