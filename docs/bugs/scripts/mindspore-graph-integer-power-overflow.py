import mindspore as ms

print("mindspore", ms.__version__)


@ms.jit
def power():
    return 10**20


seen = power()
print("10**20:", seen)
assert seen > 0, "a power of ten is negative"
print("no difference")
