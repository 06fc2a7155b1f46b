import mindspore as ms

print("mindspore", ms.__version__)


@ms.jit
def label():
    return f"{2.5:.3f}", f"{7:03d}"


seen = label()
print("seen:", seen)
assert seen == ("2.500", "007"), "the format is not applied"
print("no difference")
