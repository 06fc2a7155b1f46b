import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
seen = ops.softmax(Tensor(np.array([-np.inf, -np.inf], np.float32)), -1).asnumpy()
print("softmax:", seen, "sum:", seen.sum())
assert np.isnan(seen).all() or np.isclose(seen.sum(), 1), "probabilities that sum to 0"
print("no difference")
