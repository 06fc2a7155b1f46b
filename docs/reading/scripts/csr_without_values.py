"""mindspore.ops.csr_relu: MindSpore PyNative raised although the documentation lists CPU."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.array([[0.0]], np.float32), ms.float32)

def forward(x):
    a = ops.csr_relu(x.to_csr()).to_dense()
    return a

print("mindspore", ms.__version__)

try:
    print(forward(x))
except Exception as error:
    raise AssertionError("mindspore-pynative raises") from error

print("no difference")
