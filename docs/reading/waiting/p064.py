"""clone + select + copy_: MindSpore PyNative returned another layout than promised."""

import numpy as np
import mindspore as ms
from mindspore import Tensor

x = Tensor(np.full((1, 1), 1, np.float32), ms.float32)
y = Tensor(np.full((1,), 1, np.float32), ms.float32)

def forward(x, y):
    a = x.copy()
    b = a[:, 0]
    b[...] = y
    c = b
    return c

print("mindspore", ms.__version__)

got = forward(x, y)
shares = any(got.untyped_storage().data_ptr() == one.untyped_storage().data_ptr() for one in (x, y, ))
print("shares storage with an input:", shares)
assert not shares, "a copy shares its operand's storage"

print("no difference")
