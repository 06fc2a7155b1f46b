import torch

print("torch", torch.__version__)
scores = torch.arange(24.0).reshape(1, 3, 2, 4) / 10
target = torch.tensor([[[0, 1, 2, 0], [2, 1, 0, 1]]])
expected = scores.clone().requires_grad_()
torch.nn.functional.nll_loss(expected, target).backward()
seen = scores.to(memory_format=torch.channels_last).requires_grad_()
loss = torch.nn.functional.nll_loss(seen, target)
try:
    loss.backward()
except RuntimeError as error:
    raise AssertionError(f"the gradient of a channels_last input raises: {error}") from error
assert torch.equal(seen.grad, expected.grad)
print("no difference")
