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
