import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = np.array([[1.0, 2.0, 3.0]])
try:
    seen = ops.cosine_similarity(Tensor(x), Tensor(x[:, ::-1].copy())).asnumpy()
except TypeError as error:
    raise AssertionError(f"float64 is refused: {error}") from error
np.testing.assert_allclose(seen, [10 / 14], rtol=1e-12)
print("no difference")
