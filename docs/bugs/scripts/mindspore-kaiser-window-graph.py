import mindspore as ms
from mindspore import ops

print("mindspore", ms.__version__)


def kaiser():
    return ops.kaiser_window(4, dtype=ms.float32)


def hamming():
    return ops.hamming_window(4, dtype=ms.float32)


print("PyNative:", kaiser())
print("Graph, hamming_window:", ms.jit(hamming, fullgraph=True)())
try:
    print("Graph:", ms.jit(kaiser, fullgraph=True)())
except Exception as error:
    raise AssertionError("ops.kaiser_window with dtype raises in Graph mode") from error
print("no difference")
