import numpy as np
import mindspore as ms
from mindspore import CSRTensor, Tensor, ops

print("mindspore", ms.__version__)
starts = Tensor(np.array([0, 1, 3], np.int32))
columns = Tensor(np.array([0, 0, 1], np.int32))
values = Tensor(np.array([1.0, 2.0, 2.0], np.float32))


def rows(starts, columns, values):
    return ops.csr_softmax(CSRTensor(starts, columns, values, (2, 2)), ms.float32).to_dense()


expected = [[1.0, 0.0], [0.5, 0.5]]
np.testing.assert_allclose(rows(starts, columns, values).asnumpy(), expected, rtol=1e-6)
try:
    seen = ms.jit(rows)(starts, columns, values).asnumpy()
except (AttributeError, RuntimeError) as error:
    raise AssertionError(f"Graph mode raises: {error}") from error
np.testing.assert_allclose(seen, expected, rtol=1e-6)
print("no difference")
