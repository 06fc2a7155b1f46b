import numpy as np
import mindspore as ms
from mindspore import CSRTensor, Tensor, ops

print("mindspore", ms.__version__)
indptr, indices = Tensor([0, 2], ms.int32), Tensor([0, 1], ms.int32)
values = Tensor([1.0, 2.0], ms.float32)
ops.csr_softmax(CSRTensor(indptr, indices, values, (1, 2)), ms.float32)
print("values of the operand afterwards:", values)
np.testing.assert_array_equal(values.asnumpy(), np.array([1.0, 2.0], np.float32))
print("no difference")
