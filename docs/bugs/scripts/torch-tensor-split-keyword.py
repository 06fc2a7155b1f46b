import torch

print("torch", torch.__version__)
x = torch.arange(4.0).reshape(2, 2)
print("by place:", torch.tensor_split(x, 2))
refused = []
for name in ("tensor_split", "hsplit", "vsplit"):
    try:
        getattr(torch, name)(x, indices_or_sections=2)
    except TypeError:
        refused.append(name)
assert not refused, f"the documented name indices_or_sections is refused by {', '.join(refused)}"
print("no difference")
