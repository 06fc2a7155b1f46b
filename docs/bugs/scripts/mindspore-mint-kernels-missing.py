import numpy as np
import mindspore as ms
from mindspore import Tensor, mint

print("mindspore", ms.__version__)
assert "``CPU``" in (mint.acos.__doc__ or ""), "the documentation no longer lists CPU"
x = Tensor(np.array([0.5], np.float32))
try:
    answer = mint.acos(x).asnumpy()
except RuntimeError as error:
    raise AssertionError(f"mint.acos lists CPU and raises: {error}") from error
np.testing.assert_allclose(answer, np.arccos([0.5]), rtol=1e-5)
print("no difference")
