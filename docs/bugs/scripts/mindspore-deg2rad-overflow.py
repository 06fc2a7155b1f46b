import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
radians = ops.deg2rad(Tensor(np.array([3e38], np.float32))).asnumpy()
degrees = ops.rad2deg(Tensor(np.array([3e36], np.float32))).asnumpy()
print("deg2rad(3e38):", radians, "expected:", np.deg2rad(np.float32(3e38)))
print("rad2deg(3e36):", degrees, "expected:", np.rad2deg(np.float32(3e36)))
np.testing.assert_allclose(radians, np.deg2rad(np.float32([3e38])), rtol=1e-5)
np.testing.assert_allclose(degrees, np.rad2deg(np.float32([3e36])), rtol=1e-5)
print("no difference")
