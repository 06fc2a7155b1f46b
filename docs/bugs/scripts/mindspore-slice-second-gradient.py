import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
x = Tensor([2.0, 3.0, 5.0], ms.float32)


def by_index(x):
    return (x[0:2] ** 3).sum()


def by_split(x):
    return (ops.split(x, 2)[0] ** 3).sum()


def index_slope(x):
    return ms.grad(by_index)(x).sum()


def split_slope(x):
    return ms.grad(by_split)(x).sum()


print("gradients:", ms.grad(by_index)(x), ms.grad(by_split)(x))
print("second, x[0:2]:", ms.grad(index_slope)(x), ms.jit(ms.grad(index_slope))(x))
raised = []
for mode, run in (("PyNative", ms.grad(split_slope)), ("Graph", ms.jit(ms.grad(split_slope)))):
    try:
        seen = run(x).asnumpy()
    except RuntimeError as error:
        raised.append(f"{mode}: {str(error).splitlines()[0]}")
        continue
    print(f"second, ops.split, {mode}:", seen)
    np.testing.assert_allclose(seen, [12.0, 18.0, 0.0], rtol=1e-5)
assert not raised, raised
print("no difference")
