import numpy as np
import torch

print("torch", torch.__version__)
magnitude = torch.tensor([0.0, 1.0], requires_grad=True)
angle = torch.tensor([0.5, 0.5])
z = torch.polar(magnitude, angle)
(z.real + z.imag).sum().backward()
expected = np.cos(angle.numpy()) + np.sin(angle.numpy())
print("gradient:", magnitude.grad, "formula:", expected)
np.testing.assert_allclose(magnitude.grad.numpy(), expected, rtol=1e-5)
print("no difference")
