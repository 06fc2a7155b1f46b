"""Draws from named distributions, with a seed: dtype and shape are promised, values are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.random_ops import torch_seeded
from engine.ops.rules import Requirement, default, limited, resized, static
from engine.ops.spec import Form, OpCall, Tolerance, op

_SEEDS: tuple[Attr, ...] = (0, 7)
CARRIERS = ("float32", "int64")


def _drawn(
    name: str,
    dtype: str,
    torch: Mapping[str, str | Form],
    mindspore: Mapping[str, str | Form] | None,
    attrs: Mapping[str, tuple[Attr, ...]],
    middle: Callable[..., object],
) -> None:
    """Numbers in the shape of the operand; `middle` is one that the distribution may give."""

    def reference(x: Array, seed: int, **attrs: float) -> Array:
        return np.full(x.shape, middle(**attrs), np.dtype(dtype))

    op(
        name,
        "x",
        attrs={**attrs, "seed": _SEEDS},
        dtypes=CARRIERS,
        infer=lambda call: resized(call["x"], static(call["x"]), dtype),
        requires=lambda call: ((0 not in static(call["x"]), "the shape is empty"),),
        reference=reference,
        torch=torch,
        mindspore=None if mindspore is None else limited(CARRIERS, mindspore),
        tolerance=Tolerance.EXACT,
        shapes=((2, 3, 4), (5,)),
        tags={"random"},
        random=True,
        differentiable=False,
    )


_drawn(
    "randint",
    "int64",
    {
        "function": torch_seeded("torch.randint({low}, {high}, {x}.shape)"),
        "keyword": torch_seeded(
            "torch.randint(low={low}, high={high}, size={x}.shape, dtype=torch.int64)",
            default("torch.randint", "dtype=torch.int64"),
        ),
        "inplace": torch_seeded(
            "torch.empty({x}.shape, dtype=torch.int64).random_({low}, {high})",
            "torch.Tensor.random_: the discrete uniform distribution over [from, to - 1]",
        ),
    },
    {
        "function": "ops.randint({low}, {high}, {x}.shape, seed={seed})",
        "keyword": Form(
            "ops.randint(low={low}, high={high}, size={x}.shape, seed={seed}, dtype=ms.int64)",
            source="mindspore.ops.randint: dtype, None is int64",
        ),
    },
    {"low": (0, -3), "high": (5, 2)},
    lambda low, high: low,
)
_drawn(
    "normal",
    "float32",
    {
        "function": torch_seeded("torch.normal({mean}, {std}, {x}.shape)"),
        "keyword": torch_seeded(
            "torch.normal(mean={mean}, std={std}, size={x}.shape)", "torch.normal: names"
        ),
        "inplace": torch_seeded(
            "torch.empty({x}.shape).normal_({mean}, {std})",
            "torch.Tensor.normal_: samples from the normal distribution by mean and std",
        ),
    },
    {
        "function": "ops.normal({x}.shape, {mean}, {std}, seed={seed})",
        "keyword": Form(
            "ops.normal(shape={x}.shape, mean={mean}, stddev={std}, seed={seed})",
            source="mindspore.ops.normal: names",
        ),
    },
    {"mean": (0.0, 2.0), "std": (1.0, 0.5)},
    lambda mean, std: mean,
)
_drawn(
    "uniform",
    "float32",
    {
        "inplace": torch_seeded("torch.empty({x}.shape).uniform_({low}, {high})"),
        "composed": torch_seeded(
            "torch.rand({x}.shape) * ({high} - {low}) + {low}",
            "torch.rand: numbers from a uniform distribution on [0, 1)",
        ),
    },
    {
        "function": "ops.uniform({x}.shape, Tensor({low}, ms.float32), Tensor({high}, ms.float32),"
        " seed={seed})",
    },
    {"low": (0.0, -2.0), "high": (1.0, 3.0)},
    lambda low, high: (low + high) / 2,
)
_drawn(
    "exponential",
    "float32",
    {"inplace": torch_seeded("torch.empty({x}.shape).exponential_({rate})")},
    None,
    {"rate": (1.0, 3.0)},
    lambda rate: 1 / rate,
)


def is_weights(call: OpCall) -> Requirement:
    shape = static(call["x"])
    yield len(shape) in (1, 2) and 0 not in shape, f"{shape} are no weights of draws"


def picks(call: OpCall) -> Dense:
    return resized(call["x"], (*static(call["x"])[:-1], call.integer("count")), "int64")


op(
    "multinomial",
    "x",
    attrs={"count": (4, 1), "seed": _SEEDS},
    dtypes=("float32",),
    infer=picks,
    requires=is_weights,
    reference=lambda x, count, seed: np.zeros((*x.shape[:-1], count), np.int64),
    torch={
        "function": torch_seeded("torch.multinomial({x}, {count}, True)"),
        "method": torch_seeded(
            "{x}.multinomial({count}, True)", "torch.Tensor.multinomial: see torch.multinomial()"
        ),
        "keyword": torch_seeded(
            "torch.multinomial(input={x}, num_samples={count}, replacement=True)",
            "torch.multinomial: names",
        ),
    },
    mindspore={
        "function": Form(
            "ops.multinomial({x}, {count}, True, seed={seed}).astype(ms.int64)",
            api="ops.multinomial",
        ),
        "keyword": Form(
            "ops.multinomial(input={x}, num_samples={count}, replacement=True, seed={seed})"
            ".astype(ms.int64)",
            source="mindspore.ops.multinomial: names",
        ),
    },
    tolerance=Tolerance.EXACT,
    domain=(0.1, 2.0),
    shapes=((2, 3), (4,)),
    tags={"random"},
    random=True,
    differentiable=False,
)
op(
    "poisson",
    "x",
    attrs={"seed": _SEEDS},
    dtypes=("float32", "float64"),
    infer=lambda call: resized(call["x"], static(call["x"])),
    reference=lambda x, seed: np.floor(x),
    torch={"function": torch_seeded("torch.poisson({x})")},
    mindspore=None,
    tolerance=Tolerance.EXACT,
    domain=(0.1, 4.0),
    shapes=((2, 3), (4,)),
    tags={"random"},
    random=True,
    differentiable=False,
)
