import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def columns(x):
    y = (x * 1).reshape(3, 3)
    y[:, 1:] = y[:, :-1]
    return y


def transposed(x):
    y = (x * 1).reshape(3, 3)
    y[:] = y.T
    return y


def shifted(x):
    y = x * 1
    y[:-1] = y[1:]
    return y


numbers = np.arange(9, dtype=np.float32)
x = Tensor(numbers)
wrong = []
for function in (columns, transposed, shifted):
    compiled = ms.jit(function, capture_mode="ast", fullgraph=True)
    expected = compiled(x).asnumpy()
    print(function.__name__, "Graph:", expected.tolist())
    try:
        got = function(x).asnumpy()
    except RuntimeError as error:
        wrong.append(f"{function.__name__}: {str(error).splitlines()[0]}")
        continue
    print("PyNative:", got.tolist())
    if not np.array_equal(got, expected):
        wrong.append(f"{function.__name__}: {got.tolist()}")

apart = Tensor(numbers.reshape(3, 3))
apart[:, 1:] = apart[:, :-1] * 1
print("PyNative, of a copy:", apart.asnumpy().tolist())
assert np.array_equal(apart.asnumpy(), [[0, 0, 1], [3, 3, 4], [6, 6, 7]])
assert not wrong, wrong
print("no difference")
