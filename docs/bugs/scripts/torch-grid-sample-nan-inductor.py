import numpy as np
import torch

print("torch", torch.__version__)
image = torch.arange(1.0, 17.0).reshape(1, 1, 4, 4)
image[0, 0, 0, 0] = np.nan
grid = torch.full((1, 1, 2, 2), -3.0)


def forward(image, grid):
    return torch.nn.functional.grid_sample(image, grid, align_corners=False)


seen = torch.compile(forward, backend="inductor", fullgraph=True)(image, grid)
print("eager:", forward(image, grid), "inductor:", seen)
assert bool((seen == 0).all()), "a point outside the image is not 0"
print("no difference")
