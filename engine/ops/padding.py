"""Padding: with a constant, by reflection, by replication and round the edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MOVING,
    Requirement,
    default,
    limited,
    resized,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT


def pairs(pad: tuple[int, ...], rank: int) -> list[tuple[int, int]]:
    """Padding before and after each axis; the attribute starts with the last axis."""
    found = [(pad[at], pad[at + 1]) for at in range(0, len(pad), 2)]
    return [(0, 0)] * (rank - len(found)) + found[::-1]


def padded_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    sides = pairs(call.integers("pad"), len(shape))
    return resized(call["x"], (e + b + a for e, (b, a) in zip(shape, sides, strict=True)))


def pad_fits(call: OpCall) -> Requirement:
    pad, rank = call.integers("pad"), call["x"].rank
    yield len(pad) % 2 == 0, f"the padding {pad} has an odd length"
    yield len(pad) <= 2 * rank, f"the padding {pad} has more axes than the input"
    if len(pad) <= 2 * rank:
        shape = static(call["x"])
        sides = pairs(pad, rank)
        yield (
            all(e + b + a > 0 for e, (b, a) in zip(shape, sides, strict=True)),
            f"the padding {pad} leaves an axis empty",
        )


def constant(x: Array, pad: tuple[int, ...], value: float) -> Array:
    """Pads with a value; a negative padding crops."""
    sides = pairs(pad, x.ndim)
    inner = tuple(slice(max(-b, 0), x.shape[at] - max(-a, 0)) for at, (b, a) in enumerate(sides))
    grown = [(max(b, 0), max(a, 0)) for b, a in sides]
    return np.pad(x[inner], grown, constant_values=np.asarray(value).astype(x.dtype))


def square_pad(call: OpCall) -> bool:
    return len(call.integers("pad")) == 4


op(
    "pad",
    "x",
    attrs={"pad": ((1, 2), (1, 2, 0, 1), (0, 0, 1, 0), (-1, 1)), "value": (0, 2, -1)},
    dtypes=MOVING,
    infer=padded_type,
    requires=lambda call: (
        *pad_fits(call),
        (
            call["x"].dtype not in ("bool", "uint8") or call.attr("value") in (0,),
            "the value does not fit the dtype",
        ),
    ),
    reference=constant,
    torch={
        "function": 'F.pad({x}, {pad}, "constant", {value})',
        "keyword": Form(
            'F.pad({x}, pad={pad}, mode="constant", value={value})',
            source="torch.nn.functional.pad",
        ),
        "default": Form(
            "F.pad({x}, {pad})",
            when={"value": 0},
            source=default("torch.nn.functional.pad", "mode='constant', value=None (0)"),
        ),
        "module": Form(
            "nn.ConstantPad2d({pad}, {value})({x})",
            when=lambda call: square_pad(call) and call["x"].rank in (3, 4),
            source="torch.nn.ConstantPad2d: for N-dimensional padding use functional.pad()",
        ),
        "module_1d": Form(
            "nn.ConstantPad1d({pad}, {value})({x})",
            when=lambda call: len(call.integers("pad")) == 2 and call["x"].rank in (2, 3),
            source="torch.nn.ConstantPad1d: for N-dimensional padding use functional.pad()",
        ),
        "module_zero": Form(
            "nn.ZeroPad2d({pad})({x})",
            when=lambda call: (
                square_pad(call) and call.attr("value") == 0 and call["x"].rank in (3, 4)
            ),
            source="torch.nn.ZeroPad2d: pads the boundaries with zero",
        ),
    },
    mindspore=limited(
        MINDSPORE_MOVING,
        {
            "function": 'ops.pad({x}, {pad}, "constant", {value})',
            "keyword": Form(
                'ops.pad({x}, padding={pad}, mode="constant", value={value})', source="ops.pad"
            ),
            "default": Form(
                "ops.pad({x}, {pad})",
                when={"value": 0},
                source=default("mindspore.ops.pad", "mode='constant', value=None (0)"),
            ),
            "module": Form(
                "nn.ConstantPad2d({pad}, {value})({x})",
                when=square_pad,
                source="mindspore.nn.ConstantPad2d: pads the last two dimensions",
            ),
            "module_1d": Form(
                "nn.ConstantPad1d({pad}, {value})({x})",
                when=lambda call: len(call.integers("pad")) == 2,
                source="mindspore.nn.ConstantPad1d: pads the last dimension",
            ),
            "module_zero": Form(
                "nn.ZeroPad2d({pad})({x})",
                when=lambda call: square_pad(call) and call.attr("value") == 0,
                source="mindspore.nn.ZeroPad2d: pads the last two dimensions with zero",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 4), (4,), (1, 2, 3, 2)),
    tags={"padding"},
)


def inside(limit: Callable[[int], int]) -> Callable[[OpCall], Requirement]:
    """Requirements of padding from the tensor's own values: within `limit` of each extent."""

    def requires(call: OpCall) -> Requirement:
        yield from pad_fits(call)
        pad, shape = call.integers("pad"), static(call["x"])
        axes = len(pad) // 2
        yield len(shape) in (axes + 1, axes + 2), "only the last axes of a batch are padded"
        yield 0 not in shape, "the input is empty"
        sides = pairs(pad, len(shape))
        yield (
            all(
                min(side) >= 0 and max(side) <= limit(extent)
                for extent, side in zip(shape, sides, strict=True)
            ),
            "the padding is negative or larger than the axis allows",
        )

    return requires


def mode_row(
    mode: str, numpy: Any, layer: str, limit: Callable[[int], int], mindspore: dict[str, str | Form]
) -> None:
    op(
        f"pad_{mode}",
        "x",
        attrs={"pad": ((1, 2), (1, 1, 0, 1), (2, 0))},
        dtypes=("float32", "float64", "float16", "bfloat16"),
        infer=padded_type,
        requires=inside(limit),
        reference=lambda x, pad: np.pad(x, pairs(pad, x.ndim), mode=numpy),
        torch={
            "function": f'F.pad({{x}}, {{pad}}, "{mode}")',
            "keyword": Form(f'F.pad({{x}}, pad={{pad}}, mode="{mode}")', source="F.pad"),
            "module": Form(
                f"nn.{layer}2d({{pad}})({{x}})",
                when=square_pad,
                source=f"torch.nn.{layer}2d: for N-dimensional padding use functional.pad()",
            ),
            "module_1d": Form(
                f"nn.{layer}1d({{pad}})({{x}})",
                when=lambda call: len(call.integers("pad")) == 2,
                source=f"torch.nn.{layer}1d: for N-dimensional padding use functional.pad()",
            ),
        },
        mindspore=limited(
            ("float32", "float64", "float16"),
            {
                "function": f'ops.pad({{x}}, {{pad}}, "{mode}")',
                "keyword": Form(
                    f'ops.pad({{x}}, padding={{pad}}, mode="{mode}")', source="ops.pad"
                ),
                **mindspore,
            },
        ),
        tolerance=EXACT,
        shapes=((2, 3, 4), (2, 4), (1, 2, 3, 3)),
        tags={"padding"},
    )


mode_row(
    "reflect",
    "reflect",
    "ReflectionPad",
    lambda extent: extent - 1,
    {
        "module": Form(
            "nn.ReflectionPad2d({pad})({x})",
            when=square_pad,
            source="mindspore.nn.ReflectionPad2d: reflection of the last two dimensions",
        ),
        "module_1d": Form(
            "nn.ReflectionPad1d({pad})({x})",
            when=lambda call: len(call.integers("pad")) == 2,
            source="mindspore.nn.ReflectionPad1d: reflection of the last dimension",
        ),
    },
)
mode_row("replicate", "edge", "ReplicationPad", lambda extent: 2 * extent, {})
mode_row("circular", "wrap", "CircularPad", lambda extent: extent, {})
