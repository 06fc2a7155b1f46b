import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
# One pixel, sampled at its centre: the answer is the pixel itself.
x = np.array([[[[0.1]]]])
grid = np.zeros((1, 1, 1, 2))
seen = {
    mode: ops.grid_sample(Tensor(x), Tensor(grid), mode, "zeros", False).asnumpy()
    for mode in ("nearest", "bilinear")
}
for mode, one in seen.items():
    print(mode, one.dtype, np.array2string(one, precision=17), "expected 0.1")
    assert one.dtype == np.float64
for one in seen.values():
    np.testing.assert_allclose(one, x, rtol=1e-10)
print("no difference")
