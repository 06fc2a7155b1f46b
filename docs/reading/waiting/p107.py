"""mindspore.ops.any: MindSpore PyNative and MindSpore Graph mode gave wrong values."""

import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

x = Tensor(np.full((1, 1), 1, np.float32), ms.float32)

def forward(x):
    a = ops.any(x, axis=-1, keep_dims=False)
    return a

print("mindspore", ms.__version__)

got = forward(x)
got = got.asnumpy()
expected = np.array([ True])  # the same computation in float64
print("got:     ", got)
print("expected:", expected)
np.testing.assert_array_equal(got, expected)

print("no difference")
