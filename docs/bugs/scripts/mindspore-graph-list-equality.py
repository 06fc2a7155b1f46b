import mindspore as ms
from mindspore import Tensor

print("mindspore", ms.__version__)


def forward(x):
    return 1 == 1.0, [1] == [1.0], (1, 2) == (1.0, 2.0), [1] == [1], 1 in (1.0, 2.0)


x = Tensor([1.0], ms.float32)
expected, seen = forward(x), ms.jit(forward)(x)
print("Python:", expected)
print("Graph: ", seen)
assert tuple(bool(one) for one in seen) == expected, f"{seen} in place of {expected}"
print("no difference")
