"""Pooling that remembers places, and pooling over windows of drawn lengths."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.pooling import count
from engine.ops.rules import Requirement, limited, resized, shape_of, static
from engine.ops.spec import Form, OpCall, Tolerance, op

FLOATS = ("float32", "float64")
MINDSPORE = ("float32", "float64", "float16")


# ------------------------------------------------------------------------------------- unpooling
def unpooled(x: Array, n: int, kernel: int) -> Array:
    """The largest of each window at its place, zero elsewhere; windows do not overlap."""
    found = np.zeros_like(x)
    spots = [range(count(extent, kernel, kernel, ceil_mode=False)) for extent in x.shape[2:]]
    for lead in np.ndindex(*x.shape[:2]):
        for at in product(*spots):
            window = tuple(slice(kernel * one, kernel * (one + 1)) for one in at)
            part = x[lead][window]
            place = np.unravel_index(int(np.argmax(part)), part.shape)
            spot = tuple(kernel * one + int(inner) for one, inner in zip(at, place, strict=True))
            found[(*lead, *spot)] = part[place]
    return found


def windows_fit(n: int) -> Callable[[OpCall], Requirement]:
    def requires(call: OpCall) -> Requirement:
        shape = shape_of(call["x"], n + 2)
        yield 0 not in shape, "the input is empty"
        yield min(shape[2:]) >= call.integer("kernel"), "the window is larger than the input"

    return requires


def unpool_row(n: int) -> None:
    pool, unpool = f"max_pool{n}d", f"max_unpool{n}d"
    places = f"F.{pool}({{x}}, {{kernel}}, return_indices=True)"
    mindspore: dict[str, str | Form] = {}
    if n > 1:
        where = f"ops.{pool}({{x}}, {{kernel}}, {{kernel}}, return_indices=True)"
        mindspore = {
            "function": Form(
                f"ops.{unpool}(*{where}, {{kernel}}, output_size={{x}}.shape)", api=f"ops.{unpool}"
            ),
            "module": Form(
                f"nn.MaxUnpool{n}d({{kernel}})(*{where}, {{x}}.shape)",
                source=f"mindspore.nn.MaxUnpool{n}d: see mindspore.ops.{unpool}",
            ),
        }
    op(
        f"max_unpool{n}d",
        "x",
        attrs={"kernel": (2, 3)},
        dtypes=FLOATS,
        infer=lambda call: resized(call["x"], static(call["x"])),
        requires=windows_fit(n),
        reference=lambda x, kernel: unpooled(x, n, kernel),
        torch={
            "function": Form(
                f"F.{unpool}(*{places}, {{kernel}}, output_size={{x}}.shape)", api=f"F.{unpool}"
            ),
            "module": Form(
                f"nn.MaxUnpool{n}d({{kernel}})(*{places}, output_size={{x}}.shape)",
                source=f"torch.nn.MaxUnpool{n}d: the inverse of MaxPool{n}d, non-maxima are zero",
            ),
        },
        mindspore=limited(MINDSPORE, mindspore) or None,
        tolerance=Tolerance.EXACT,
        shapes={1: ((2, 3, 7), (1, 1, 4)), 2: ((2, 2, 6, 7), (1, 1, 4, 4)), 3: ((1, 2, 5, 4, 6),)}[
            n
        ],
        tags={"pooling", "ties", "shape-preserving"},
        doc="What max pooling keeps, put back at its places.",
    )


for _n in (1, 2, 3):
    unpool_row(_n)


# ------------------------------------------------------------------------------------ fractional
def starts(extent: int, size: int, kernel: int, sample: float) -> list[int]:
    """Where the windows start: the last is flush with the end, the others by a drawn offset."""
    if size == 1:
        return [extent - kernel]
    alpha = np.float32((extent - kernel) / (size - 1))
    drawn = np.float32(sample)
    found = [int((at + drawn) * alpha) - int(drawn * alpha) for at in range(size - 1)]
    return [*found, extent - kernel]


def fractional(x: Array, size: tuple[int, ...], kernel: int, samples: tuple[float, ...]) -> Array:
    """The largest of each window; one sample for each axis, the same for every channel."""
    n = len(size)
    drawn = samples[:n][::-1] if n == 2 else samples[:n]
    begins = [
        starts(extent, many, kernel, sample)
        for extent, many, sample in zip(x.shape[2:], size, drawn, strict=True)
    ]
    found = np.empty((*x.shape[:2], *size), x.dtype)
    for at in np.ndindex(*size):
        window = tuple(
            slice(one[place], one[place] + kernel) for one, place in zip(begins, at, strict=True)
        )
        part = x[(slice(None), slice(None), *window)]
        found[(slice(None), slice(None), *at)] = part.max(tuple(range(2, 2 + n)))
    return found


def fractional_type(n: int) -> Callable[[OpCall], Dense]:
    def infer(call: OpCall) -> Dense:
        return resized(call["x"], (*shape_of(call["x"], n + 2)[:2], *call.integers("size")))

    return infer


def fractional_fits(n: int) -> Callable[[OpCall], Requirement]:
    def requires(call: OpCall) -> Requirement:
        shape, size = shape_of(call["x"], n + 2), call.integers("size")
        kernel = call.integer("kernel")
        yield 0 not in shape, "the input is empty"
        yield (
            all(one + kernel - 1 <= extent for one, extent in zip(size, shape[2:], strict=True)),
            f"{size} windows of {kernel} do not fit {shape[2:]}",
        )

    return requires


def fractional_row(n: int, sizes: tuple[Attr, ...], shapes: tuple[tuple[int, ...], ...]) -> None:
    name = f"fractional_max_pool{n}d"
    samples = f"torch.tensor({{samples}}, dtype={{x}}.dtype).expand(*{{x}}.shape[:2], {n})"
    mindspore_samples = (
        f"ops.broadcast_to(Tensor({{samples}}, {{x}}.dtype), (*{{x}}.shape[:2], {n}))"
    )
    values: tuple[Any, ...] = ((0.3, 0.6, 0.2)[:n], (0.9, 0.1, 0.5)[:n], (0.0,) * n)
    op(
        name,
        "x",
        attrs={"kernel": (2, 1), "size": sizes, "samples": values},
        dtypes=FLOATS,
        infer=fractional_type(n),
        requires=fractional_fits(n),
        reference=lambda x, kernel, size, samples: fractional(x, size, kernel, samples),
        torch={
            "function": f"F.{name}({{x}}, {{kernel}}, {{size}}, _random_samples={samples})",
            "function_indices": Form(
                f"F.{name}_with_indices({{x}}, {{kernel}}, {{size}}, _random_samples={samples})[0]",
                source=f"torch.nn.functional.{name}: return_indices also gives the places",
            ),
            "module": Form(
                f"nn.FractionalMaxPool{n}d({{kernel}}, output_size={{size}},"
                f" _random_samples={samples})({{x}})",
                source=f"torch.nn.FractionalMaxPool{n}d: over input regions of random steps",
            ),
        },
        mindspore=limited(
            MINDSPORE,
            {
                "function": f"ops.{name}({{x}}, {{kernel}}, {{size}},"
                f" _random_samples={mindspore_samples})",
                "module": Form(
                    f"nn.FractionalMaxPool{n}d({{kernel}}, output_size={{size}},"
                    f" _random_samples={mindspore_samples})({{x}})",
                    source=f"mindspore.nn.FractionalMaxPool{n}d: see mindspore.ops.{name}",
                ),
            },
        ),
        tolerance=Tolerance.EXACT,
        shapes=shapes,
        tags={"pooling"},
        doc="With the samples given, so that nothing is drawn.",
    )


fractional_row(2, ((3, 3), (2, 4), (1, 1)), ((2, 2, 6, 7), (1, 1, 5, 5)))
fractional_row(3, ((2, 2, 3), (3, 2, 1)), ((1, 2, 5, 4, 6),))
