"""Which formula gives the values of a constant: position tables, masks, anchors, index tables.

A constant of an imported model is stored as a formula wherever one of the table gives its values.
What a formula needs to know of the image it was made for is tried: planes are the image divided by
a power of two, windows and shifts are small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.errors import BadInput
from engine.ir.graph import Attr, Formula, Input
from engine.ir.types import Dense
from engine.ir.values import Array, materialise

__all__ = ["recognised"]

Candidates: TypeAlias = Iterator[Mapping[str, Attr]]
Image: TypeAlias = tuple[int, int]

# Tables are computed in float32 there and in float64 here.
_TOLERANCE = 4e-6
_STRIDES = (1, 2, 4, 8, 16, 32, 64)
_SCALES = ((8, 16, 32), (32, 16, 8))


def recognised(array: Array, dtype: str, image: Image | None) -> Formula | None:
    """The first formula of the table that gives these values, None where there is none."""
    for name, candidates in _TABLE.items():
        for parameters in candidates(array, image):
            formula = Formula(name, tuple(sorted(parameters.items())))
            if _gives(formula, array, dtype):
                return formula
    return None


def _gives(formula: Formula, array: Array, dtype: str) -> bool:
    given = Input("constant", Dense(dtype, array.shape), role="constant", init=formula)
    try:
        made = materialise([given])["constant"]
    except BadInput:
        return False  # a shape that the formula cannot have
    if array.dtype.kind != "f":
        return bool((made == array).all())
    with np.errstate(invalid="ignore"):
        close = np.abs(made.astype("float64") - array) <= _TOLERANCE * np.maximum(1, np.abs(array))
        close &= np.isfinite(array)  # every number is within an infinite tolerance
    return bool((close | (made == array)).all())


def _planes(image: Image | None, places: int | None = None) -> Iterator[Image]:
    """Extents of the image at each stride, those of so many places alone where they are known."""
    if image is None:
        return
    for stride in _STRIDES:
        plane = -(-image[0] // stride), -(-image[1] // stride)
        if places is None or plane[0] * plane[1] == places:
            yield plane


def _index_tables(array: Array, image: Image | None) -> Candidates:
    window = round(array.size**0.25)
    if array.dtype.kind == "i" and window > 1 and window**4 == array.size:
        yield {"window": window}


def _coordinate_tables(array: Array, image: Image | None) -> Candidates:
    if array.ndim >= 3 and array.shape[-1] == 2 and array.shape[-2] == array.shape[-3]:
        yield {"window": (array.shape[-2] + 1) // 2}


def _shift_masks(array: Array, image: Image | None) -> Candidates:
    window = math.isqrt(array.shape[-1]) if array.ndim >= 3 else 0
    if window < 2 or array.dtype.kind != "f":
        return
    for height, width in _planes(image):
        if -(-height // window) * -(-width // window) * window**4 == array.size:
            yield {"height": height, "width": width, "window": window, "shift": window // 2}


def _masks(array: Array, **fixed: Attr) -> Candidates:
    values = sorted(set(np.unique(array).tolist())) if array.dtype.kind == "f" else []
    if array.ndim >= 2 and len(values) == 2:
        yield {"masked": values[0], "visible": values[1], **fixed}


def _bands(array: Array, image: Image | None) -> Candidates:
    if array.ndim < 2:
        return
    first = array.reshape(-1, array.shape[-1])[0]
    seen = int((first == first[0]).sum())
    yield from _masks(array, reach=seen - 1)


def _with_strides(array: Array, image: Image | None) -> Candidates:
    if image is not None:
        for strides in _SCALES:
            yield {"height": image[0], "width": image[1], "strides": strides}


def _waves(array: Array, image: Image | None) -> Candidates:
    if array.ndim >= 2 and array.shape[-1] % 4 == 0:
        for height, width in _planes(image, array.shape[-2]):
            for by_columns in (False, True):
                yield {"height": height, "width": width, "by_columns": by_columns}


def _sines(array: Array, image: Image | None) -> Candidates:
    for height, width in _planes(image):
        if array.ndim >= 3 and array.shape[-2:] == (height, width):
            yield {"height": height, "width": width}
        elif array.ndim >= 2 and array.shape[-2] == height * width:
            yield {"height": height, "width": width, "layout": "places"}
        elif array.ndim >= 3 and array.shape[0] == height * width:
            yield {"height": height, "width": width, "layout": "places_first"}


def _rows(array: Array, image: Image | None) -> Candidates:
    if array.ndim and array.shape[-1] > 1:
        yield {}


_TABLE: Mapping[str, Callable[[Any, Image | None], Candidates]] = {
    "relative_position_index": _index_tables,
    "window_coordinates": _coordinate_tables,
    "shift_mask": _shift_masks,
    "band_mask": _bands,
    "start_mask": lambda array, image: _masks(array),
    "cloze_mask": lambda array, image: _masks(array),
    "frequencies": _rows,
    "plane_waves": _waves,
    "plane_sine": _sines,
    "grid_centres": _with_strides,
    "grid_strides": _with_strides,
    "anchors": _with_strides,
    "anchor_mask": _with_strides,
    "reference_points": _with_strides,
}


def shape_of(image: Sequence[int]) -> Image | None:
    """Height and width of an input (N, C, H, W), None for what is no image."""
    return (image[-2], image[-1]) if len(image) == 4 else None
