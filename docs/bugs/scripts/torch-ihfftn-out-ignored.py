import torch

print("torch", torch.__version__)
x = torch.arange(12.0).reshape(3, 4) ** 2
expected = torch.fft.ihfftn(x, dim=(1,))
out = torch.full_like(expected, 7)
returned = torch.fft.ihfftn(x, dim=(1,), out=out)
print("expected:", expected[0])
print("out:     ", out[0])
assert torch.allclose(returned, expected), "torch.fft.ihfftn(..., out=out) leaves out as it was"
assert torch.allclose(out, expected)
print("no difference")
