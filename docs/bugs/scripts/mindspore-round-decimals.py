import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor(np.array([0.126, -3.333, 7.77], np.float32))
print("decimals=0:", ops.round(x))
try:
    print("decimals=2:", ops.round(x, decimals=2))
except Exception as error:
    raise AssertionError("ops.round with decimals=2 raises") from error
print("no difference")
