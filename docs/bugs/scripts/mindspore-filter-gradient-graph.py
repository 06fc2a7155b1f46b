import numpy as np
import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def keep(v):
    return (v * v).sum() > 1.0


def filtered(x):
    total = x * 0.0
    for one in filter(keep, (x, x * 0.5)):
        total = total + one
    return total.sum()


def listed(x):
    kept = []
    for one in (x, x * 0.5):
        if keep(one):
            kept.append(one)
    total = x * 0.0
    for one in kept:
        total = total + one
    return total.sum()


def tested(x):
    total = x * 0.0
    for one in (x, x * 0.5):
        if keep(one):
            total = total + one
    return total.sum()


def compiled(function):
    return ms.jit(function, capture_mode="ast", fullgraph=True)


wrong = []
for numbers in ([2.0, 3.0], [0.1, 0.2]):
    x = Tensor(np.array(numbers, np.float32))
    expected = ms.grad(filtered)(x).asnumpy()
    print(numbers, "value, Graph:", compiled(filtered)(x), "gradient, PyNative:", expected)
    print("gradient of the loop with if, Graph:", compiled(ms.grad(tested))(x))
    for function in (filtered, listed):
        try:
            got = compiled(ms.grad(function))(x).asnumpy()
        except RuntimeError as error:
            wrong.append(f"{function.__name__}: {str(error).splitlines()[0]}")
            continue
        print(f"gradient of {function.__name__}, Graph:", got)
        if not np.array_equal(got, expected):
            wrong.append(f"{function.__name__}: {got} in place of {expected}")
assert not wrong, wrong
print("no difference")
