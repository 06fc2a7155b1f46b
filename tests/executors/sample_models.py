"""Small modules for the tests of the exporter: constants of every kind that it recognises."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

Built = tuple[nn.Module, dict[str, torch.Tensor]]


class Masked(nn.Module):
    """A position table, a causal mask and rotary tables, all computed inside `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(8, 6)
        self.project = nn.Linear(6, 6)
        self.register_buffer("scale", torch.tensor([0.5, 2.0, 1.0, 1.0, 0.25, 3.0]))

    def forward(self, x: torch.Tensor) -> Any:
        length = x.shape[1]
        positions = torch.arange(length)
        angles = positions[:, None] * 10000.0 ** (-torch.arange(0, 6, 2) / 6.0)
        cosines = torch.cat([angles, angles], dim=-1).cos()
        hidden = torch.full((length, length), float("-inf")).triu(1)
        y = self.project(x * cosines) + self.table(positions)
        weights = torch.softmax(y @ y.transpose(1, 2) + hidden, dim=-1)
        return (weights @ y) * self.scale


class Strange(nn.Module):
    """Uses an operator that has no row."""

    def forward(self, x: torch.Tensor) -> Any:
        return torch.linalg.matrix_exp(x)


def masked() -> Built:
    torch.manual_seed(0)
    return Masked().eval(), {"x": torch.randn(2, 5, 6)}


def strange() -> Built:
    return Strange().eval(), {"x": torch.randn(3, 3)}


def training() -> Built:
    return Masked(), {"x": torch.randn(2, 5, 6)}


class Changing(nn.Module):
    """Computes something else while it is exported."""

    def forward(self, x: torch.Tensor) -> Any:
        return x * 2 if torch.compiler.is_exporting() else x * 3


def changing() -> Built:
    return Changing().eval(), {"x": torch.randn(3, 3)}


def encoder(batch: int = 2) -> Built:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    module = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    return module.eval(), {"src": torch.randn(batch, 5, 8)}


class Convolutional(nn.Module):
    """A convolution with its norm, one by channel, a gate, a pooling and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.SiLU())
        self.deep = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.stem(x)
        y = nn.functional.max_pool2d(y + torch.relu(self.deep(y)), 2)
        return self.head(y.mean((2, 3)))


class Attentive(nn.Module):
    """Token ids, causal attention over parts of one product, a tied head, a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.norm, self.mix, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.table(ids)
        batch, length, width = x.shape
        parts = self.mix(self.norm(x)).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        hidden = torch.full((length, length), float("-inf")).triu(1)
        scores = torch.softmax(parts[0] @ parts[1].transpose(-1, -2) / 8**0.5 + hidden, -1)
        x = x + self.out((scores @ parts[2]).transpose(1, 2).reshape(batch, length, width))
        x = x + self.mlp(self.norm(x))
        return x @ self.table.weight.T, x.argmax(-1)


class Upsampling(nn.Module):
    """A transposed convolution, both ways of growing, a reflection, pixels from channels."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 8, 2, 2)
        self.norm = nn.InstanceNorm2d(8, affine=True)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.norm(nn.functional.leaky_relu(self.up(x), 0.1))
        grown = nn.functional.interpolate(y, scale_factor=2, mode="bilinear")
        near = nn.functional.interpolate(y, scale_factor=2, mode="nearest")
        shuffled = nn.functional.pixel_shuffle(nn.functional.pad(y, (1, 1, 1, 1), "reflect"), 2)
        return grown - near, shuffled.clamp(-1, 1)


def convolutional() -> Built:
    return Convolutional().eval(), {"x": torch.randn(2, 3, 16, 16)}


def attentive() -> Built:
    return Attentive().eval(), {"ids": torch.randint(0, 50, (2, 7))}


def upsampling() -> Built:
    return Upsampling().eval(), {"x": torch.randn(2, 4, 6, 5)}
