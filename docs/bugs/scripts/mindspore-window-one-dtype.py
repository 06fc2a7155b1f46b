import mindspore as ms
from mindspore import ops

print("mindspore", ms.__version__)
wrong = []
for name in ("hann_window", "hamming_window", "kaiser_window"):
    window = getattr(ops, name)
    two, one = window(2, dtype=ms.float32).dtype, window(1, dtype=ms.float32).dtype
    print(f"{name}: {two} with length 2, {one} with length 1")
    if one != ms.float32:
        wrong.append(name)
assert not wrong, f"dtype=float32 is ignored with length 1 by {', '.join(wrong)}"
print("no difference")
