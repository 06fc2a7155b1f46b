"""Pooling to a given size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr
from engine.ir.types import Dense
from engine.ops.numeric import Array, widened
from engine.ops.pooling import several
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    limited,
    many_integers,
    resized,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op


# ------------------------------------------------------------------------------------ adaptive
def adaptive_type(n: int) -> Callable[[OpCall], Dense]:
    def infer(call: OpCall) -> Dense:
        x = shape_of(call["x"], n + 1, n + 2)
        if 0 in x:
            raise ConstraintViolated("the input is empty")
        return resized(call["x"], (*x[:-n], *many_integers(call, "size", n)))

    return infer


def adaptive(x: Array, size: Any, *, n: int, reduce: Callable[..., Array]) -> Array:
    """Reduce the n last axes over near-equal, possibly overlapping parts."""
    for place, parts in enumerate(several(size, n)):
        at = x.ndim - n + place
        extent = x.shape[at]
        pieces = [
            reduce(
                np.take(x, range(i * extent // parts, -(-(i + 1) * extent // parts)), axis=at),
                axis=at,
                keepdims=True,
            )
            for i in range(parts)
        ]
        x = np.concatenate(pieces, axis=at)
    return x


def divisible(n: int) -> Callable[[OpCall], bool]:
    return lambda call: all(
        extent % parts == 0
        for extent, parts in zip(
            static(call["x"])[-n:], many_integers(call, "size", n), strict=True
        )
    )


def adaptive_row(kind: str, n: int, mindspore: dict[str, str | Form]) -> None:
    name, module = f"adaptive_{kind}_pool{n}d", f"Adaptive{kind.capitalize()}Pool{n}d"
    reduce = np.mean if kind == "avg" else np.max
    shapes = {1: ((2, 3, 6), (1, 5)), 2: ((2, 3, 6, 4), (1, 5, 7)), 3: ((1, 2, 4, 4, 6),)}[n]
    sizes: tuple[Attr, ...] = (2, 1, 3) if n == 1 else (2, 1, (3, 2) if n == 2 else (2, 1, 3))
    op(
        name,
        "x",
        attrs={"size": sizes},
        dtypes=("float32", "float64", "float16") if n < 3 else ("float32", "float64"),
        infer=adaptive_type(n),
        reference=widened(lambda x, size: adaptive(x, size, n=n, reduce=reduce)),
        torch={
            "function": f"F.{name}({{x}}, {{size}})",
            "module": Form(
                f"nn.{module}({{size}})({{x}})", source=f"torch.nn.{module}: see {name}"
            ),
            "keyword": Form(f"F.{name}(input={{x}}, output_size={{size}})", source=f"F.{name}"),
            "composed": Form(
                f"{{x}}.mean({tuple(range(-n, 0))}, keepdim=True)",
                when=lambda call: kind == "avg" and call.attr("size") == 1,
                source=f"torch.nn.{module}: one cell is the mean of all",
            ),
        }
        if kind == "avg"
        else {
            "function": f"F.{name}({{x}}, {{size}})",
            "module": Form(
                f"nn.{module}({{size}})({{x}})", source=f"torch.nn.{module}: see {name}"
            ),
            "keyword": Form(f"F.{name}({{x}}, output_size={{size}})", source=f"F.{name}"),
        },
        mindspore=limited(MINDSPORE_FLOATS, mindspore),
        tolerance=Tolerance.ACCUMULATING if kind == "avg" else Tolerance.EXACT,
        shapes=shapes,
        tags={"pooling"},
    )


def batched(n: int) -> Callable[[OpCall], bool]:
    return lambda call: call["x"].rank == n + 2


adaptive_row(
    "avg",
    1,
    {
        "function": Form(
            "ops.adaptive_avg_pool1d({x}, {size})",
            dtypes=("float32", "float16"),
            when=lambda call: batched(1)(call) and divisible(1)(call),
        ),
        "module": Form(
            "nn.AdaptiveAvgPool1d({size})({x})",
            dtypes=("float32", "float16"),
            when=lambda call: batched(1)(call) and divisible(1)(call),
            source="mindspore.nn.AdaptiveAvgPool1d: the last dimension divisible by the size",
        ),
    },
)
adaptive_row(
    "avg",
    2,
    {
        "function": "ops.adaptive_avg_pool2d({x}, {size})",
        "module": Form(
            "nn.AdaptiveAvgPool2d({size})({x})",
            source="mindspore.nn.AdaptiveAvgPool2d: see mindspore.ops.adaptive_avg_pool2d",
        ),
        "primitive": Form(
            "ops.AdaptiveAvgPool2D({size})({x})",
            source="mindspore.ops.AdaptiveAvgPool2D: see mindspore.ops.adaptive_avg_pool2d",
        ),
    },
)
adaptive_row(
    "avg",
    3,
    {
        "function": "ops.adaptive_avg_pool3d({x}, {size})",
        "module": Form(
            "nn.AdaptiveAvgPool3d({size})({x})",
            source="mindspore.nn.AdaptiveAvgPool3d: see mindspore.ops.adaptive_avg_pool3d",
        ),
    },
)
adaptive_row(
    "max",
    1,
    {
        "function": Form(
            "ops.adaptive_max_pool1d({x}, {size})",
            dtypes=("float32", "float16"),
            when=lambda call: batched(1)(call) and divisible(1)(call),
        ),
        "module": Form(
            "nn.AdaptiveMaxPool1d({size})({x})",
            dtypes=("float32", "float16"),
            when=lambda call: batched(1)(call) and divisible(1)(call),
            source="mindspore.nn.AdaptiveMaxPool1d: the last dimension divisible by the size",
        ),
    },
)
adaptive_row(
    "max",
    2,
    {
        "function": "ops.adaptive_max_pool2d({x}, {size})",
        "module": Form(
            "nn.AdaptiveMaxPool2d({size})({x})",
            source="mindspore.nn.AdaptiveMaxPool2d: see mindspore.ops.adaptive_max_pool2d",
        ),
        "mint": Form(
            "mint.nn.functional.adaptive_max_pool2d({x}, {size})",
            source="mindspore.mint.nn.functional.adaptive_max_pool2d(input, output_size)",
        ),
        "primitive": Form(
            "ops.AdaptiveMaxPool2D({size})({x})[0]",
            when=lambda call: isinstance(call.attr("size"), tuple),
            source="mindspore.ops.AdaptiveMaxPool2D: returns the values and their places",
        ),
        "primitive_square": Form(
            "ops.AdaptiveMaxPool2D(({size}, {size}))({x})[0]",
            when=lambda call: isinstance(call.attr("size"), int),
            source="mindspore.ops.AdaptiveMaxPool2D: output_size (tuple) of H and W",
        ),
    },
)
adaptive_row(
    "max",
    3,
    {
        "function": "ops.adaptive_max_pool3d({x}, {size})",
        "function_indices": Form(
            "ops.adaptive_max_pool3d({x}, {size}, True)[0]",
            source="mindspore.ops.adaptive_max_pool3d: return_indices also gives the places",
        ),
        "module": Form(
            "nn.AdaptiveMaxPool3d({size})({x})",
            source="mindspore.nn.AdaptiveMaxPool3d: see mindspore.ops.adaptive_max_pool3d",
        ),
    },
)
