import warnings

import torch

warnings.simplefilter("ignore")
print("torch", torch.__version__)
vector = torch.arange(1.0, 4.0)
matrix = torch.arange(6.0).reshape(3, 2)
base = torch.full((2, 2), -1.0)
out = base[:, 0]
torch.matmul(vector, matrix, out=out)
print("expected in column 0:", (vector @ matrix).tolist())
print("base:", base.tolist())
print("strides of out: (2,) before,", out.stride(), "after")
assert torch.equal(base[:, 1], torch.full((2,), -1.0)), "the column beside out is written"
assert torch.equal(base[:, 0], vector @ matrix), "the column that out was has not been written"
print("no difference")
