import mindspore as ms
from mindspore import Tensor, ops

print("mindspore", ms.__version__)
print("ops.zeros(2):              ", ops.zeros(2))
print("ops.zeros((), ms.float32): ", ops.zeros((), ms.float32))


@ms.jit
def compiled(x):
    return x + ops.zeros(())


print("ops.zeros(()), Graph:      ", compiled(Tensor(0.0)))
for function in (ops.zeros, ops.ones):
    try:
        print(f"ops.{function.__name__}(()), PyNative:", function(()).asnumpy())
    except TypeError as error:
        text = str(error).splitlines()[0]
        raise AssertionError(f"ops.{function.__name__}(()) raises in PyNative: {text}") from error
print("no difference")
