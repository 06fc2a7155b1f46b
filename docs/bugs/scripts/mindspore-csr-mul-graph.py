import numpy as np
import mindspore as ms
from mindspore import CSRTensor, Tensor, ops

print("mindspore", ms.__version__)
starts = Tensor([0, 1, 3], ms.int32)
columns = Tensor([0, 0, 1], ms.int32)
values = Tensor([1.0, 2.0, 2.0], ms.float32)
dense = Tensor([[1.0, 2.0], [3.0, 4.0]], ms.float32)


def given(starts, columns, values, dense):
    return ops.csr_mul(CSRTensor(starts, columns, values, (2, 2)), dense).values


def chosen(starts, columns, values, dense):
    values = ops.masked_select(values, values > 0.0)
    return ops.csr_mul(CSRTensor(starts, columns, values, (2, 2)), dense).values


inputs = (starts, columns, values, dense)
print("values given, Graph:   ", ms.jit(given)(*inputs))
print("values chosen, PyNative:", chosen(*inputs))
try:
    seen = ms.jit(chosen)(*inputs).asnumpy()
except RuntimeError as error:
    raise AssertionError(f"Graph mode raises: {str(error).splitlines()[0]}") from error
print("values chosen, Graph:  ", seen)
np.testing.assert_allclose(seen, [1.0, 6.0, 8.0])
print("no difference")
