"""Resampling images: to a size, by a factor, over a grid, and from and to columns of patches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr
from engine.ir.types import Dense
from engine.ops.families import only
from engine.ops.numeric import Array, widened
from engine.ops.rules import (
    default,
    limited,
    many_integers,
    resized,
    shape_of,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

FLOATS = ("float32", "float64")
SHAPES: Mapping[int, tuple[tuple[int, ...], ...]] = {
    1: ((2, 3, 5), (1, 1, 4)),
    2: ((2, 3, 5, 4), (1, 1, 3, 3)),
    3: ((1, 2, 3, 4, 3),),
}


# ------------------------------------------------------------------------------------- weights
def positions(old: int, new: int, *, align_corners: bool) -> Array:
    """Where the new samples lie on the old axis."""
    places = np.arange(new, dtype=np.float64)
    if align_corners:
        return places * ((old - 1) / (new - 1) if new > 1 else 0.0)
    return (places + 0.5) * (old / new) - 0.5


def linear_weights(old: int, new: int, *, align_corners: bool) -> Array:
    """Rows of weights (new, old) of linear interpolation."""
    at = np.maximum(positions(old, new, align_corners=align_corners), 0)
    low = np.minimum(np.floor(at).astype(int), old - 1)
    high = np.minimum(low + 1, old - 1)
    result = np.zeros((new, old))
    rows = np.arange(new)
    np.add.at(result, (rows, low), 1 - (at - low))
    np.add.at(result, (rows, high), at - low)
    return result


def cubic_weights(old: int, new: int, *, align_corners: bool) -> Array:
    """Rows of weights (new, old) of cubic convolution with a = -0.75."""
    at = positions(old, new, align_corners=align_corners)
    base = np.floor(at).astype(int)
    a, result = -0.75, np.zeros((new, old))
    for tap in range(-1, 3):
        gap = np.abs(at - base - tap)
        near = ((a + 2) * gap - (a + 3)) * gap * gap + 1
        far = a * (((gap - 5) * gap + 8) * gap - 4)
        place = np.clip(base + tap, 0, old - 1)
        np.add.at(result, (np.arange(new), place), np.where(gap <= 1, near, far))
    return result


def nearest_weights(old: int, new: int, *, exact: bool) -> Array:
    """Rows that pick one sample: the one at or before (or, exactly, nearest to) the place."""
    ratio = np.float32(old) / np.float32(new)
    places = (np.arange(new, dtype=np.float32) + np.float32(0.5 if exact else 0)) * ratio
    result = np.zeros((new, old))
    result[np.arange(new), np.minimum(np.floor(places).astype(int), old - 1)] = 1
    return result


def area_weights(old: int, new: int) -> Array:
    """Rows of means over near-equal parts."""
    result = np.zeros((new, old))
    for row in range(new):
        start, stop = row * old // new, -(-(row + 1) * old // new)
        result[row, start:stop] = 1 / (stop - start)
    return result


def resample(x: Array, size: tuple[int, ...], weights: Callable[[int, int], Array]) -> Array:
    """Interpolate the last axes one after another."""
    for place, new in enumerate(size):
        at = x.ndim - len(size) + place
        rows = weights(x.shape[at], new).astype(x.dtype)
        x = np.moveaxis(np.moveaxis(x, at, -1) @ rows.T, -1, at)
    return x


# ---------------------------------------------------------------------------------------- rows
def sized(n: int) -> Callable[[OpCall], Dense]:
    def infer(call: OpCall) -> Dense:
        x = shape_of(call["x"], n + 2)
        if 0 in x:
            raise ConstraintViolated("the input is empty")
        size = many_integers(call, "size", n)
        if min(size) < 1:
            raise ConstraintViolated(f"the size {size} is not positive")
        return resized(call["x"], (*x[:2], *size))

    return infer


SIZES: Mapping[int, tuple[Attr, ...]] = {
    1: ((7,), (3,), (1,)),
    2: ((7, 8), (3, 3), (4, 2), (1, 5)),
    3: ((4, 5, 6), (2, 2, 2)),
}


def several(call: OpCall) -> bool:
    """MindSpore documents that one sample is the first value, not the middle, where n is 1."""
    return call["x"].rank != 3 or call.integers("size") != (1,)


def resize_row(
    name: str,
    n: int,
    mode: str,
    weights: Callable[..., Array],
    *,
    aligned: bool,
    mindspore: bool,
    mint: bool = False,
    tolerance: Tolerance = Tolerance.ACCUMULATING,
) -> None:
    """`aligned`: the mode takes `align_corners`."""
    corners = ", align_corners={align_corners}" if aligned else ""
    arguments = f'size={{size}}, mode="{mode}"{corners}'
    torch: dict[str, str | Form] = {
        "function": f"F.interpolate({{x}}, {arguments})",
        "module": Form(
            f"nn.Upsample({arguments})({{x}})",
            source="torch.nn.Upsample: see torch.nn.functional.interpolate",
        ),
        "keyword": Form(
            f"F.interpolate(input={{x}}, scale_factor=None, {arguments})",
            source=default("torch.nn.functional.interpolate", "scale_factor=None"),
        ),
    }
    ours: dict[str, str | Form] = {
        "function": f"ops.interpolate({{x}}, {arguments})",
        "module": Form(
            f"nn.Upsample({arguments})({{x}})",
            source="mindspore.nn.Upsample: for details refer to mindspore.ops.interpolate",
        ),
    }
    if mint:
        ours["mint"] = Form(
            f"mint.nn.functional.interpolate({{x}}, {arguments})",
            source="mindspore.mint.nn.functional.interpolate: the table lists CPU for the mode",
        )
    if mode == "nearest":
        torch["default"] = Form(
            "F.interpolate({x}, {size})",
            source=default("torch.nn.functional.interpolate", "mode='nearest'"),
        )
        ours["default"] = Form(
            "ops.interpolate({x}, {size})",
            source=default("mindspore.ops.interpolate", "mode='nearest'"),
        )
    if aligned:
        torch["default"] = Form(
            f'F.interpolate({{x}}, size={{size}}, mode="{mode}")',
            when={"align_corners": False},
            source=default("torch.nn.functional.interpolate", "align_corners=None (False)"),
        )
        ours["default"] = Form(
            f'ops.interpolate({{x}}, size={{size}}, mode="{mode}")',
            when={"align_corners": False},
            source=default("mindspore.ops.interpolate", "align_corners=None (False)"),
        )

    def reference(x: Array, size: tuple[int, ...], **corners: bool) -> Array:
        return resample(x, size, lambda old, new: weights(old, new, **corners))

    attrs: dict[str, tuple[Attr, ...]] = {"size": SIZES[n]}
    if aligned:
        attrs["align_corners"] = (False, True)
    op(
        name,
        "x",
        attrs=attrs,
        dtypes=FLOATS,
        infer=sized(n),
        reference=widened(reference),
        torch=torch,
        mindspore=limited(FLOATS, {key: only(several, one) for key, one in ours.items()})
        if mindspore
        else None,
        tolerance=tolerance,
        shapes=SHAPES[n],
        tags={"interpolation"},
    )


resize_row(
    "interpolate_nearest",
    2,
    "nearest",
    lambda old, new: nearest_weights(old, new, exact=False),
    aligned=False,
    mindspore=True,
    mint=True,
    tolerance=Tolerance.EXACT,
)
resize_row(
    "interpolate_nearest_exact",
    2,
    "nearest-exact",
    lambda old, new: nearest_weights(old, new, exact=True),
    aligned=False,
    mindspore=True,
    tolerance=Tolerance.EXACT,
)
resize_row("interpolate_linear", 1, "linear", linear_weights, aligned=True, mindspore=True)
resize_row("interpolate_bilinear", 2, "bilinear", linear_weights, aligned=True, mindspore=True)
resize_row("interpolate_trilinear", 3, "trilinear", linear_weights, aligned=True, mindspore=False)
# MindSpore does not say which cubic kernel it uses; it is not the one of PyTorch.
resize_row("interpolate_bicubic", 2, "bicubic", cubic_weights, aligned=True, mindspore=False)
resize_row("interpolate_area", 2, "area", area_weights, aligned=False, mindspore=True)


def scaled_type(call: OpCall) -> Dense:
    x, factor = shape_of(call["x"], 4), call.integer("factor")
    if 0 in x:
        raise ConstraintViolated("the input is empty")
    return resized(call["x"], (*x[:2], *(extent * factor for extent in x[2:])))


op(
    "upsample",
    "x",
    attrs={"factor": (2, 3, 1)},
    dtypes=FLOATS,
    infer=scaled_type,
    reference=lambda x, factor: x.repeat(factor, -1).repeat(factor, -2),
    torch={
        "function": 'F.interpolate({x}, scale_factor={factor}, mode="nearest")',
        "module": Form(
            "nn.Upsample(scale_factor={factor})({x})",
            source=default("torch.nn.Upsample", "mode='nearest'"),
        ),
        "function_upsample": Form(
            "F.interpolate({x}, scale_factor=({factor}, {factor}))",
            source="F.interpolate: scale_factor (float or tuple), one for each dimension",
        ),
        "module_nearest": Form(
            "nn.UpsamplingNearest2d(scale_factor={factor})({x})",
            source="torch.nn.UpsamplingNearest2d: equivalent to nearest interpolation",
        ),
        "composed": Form(
            "{x}.repeat_interleave({factor}, -1).repeat_interleave({factor}, -2)",
            source="F.interpolate: nearest by a whole factor repeats every value",
        ),
    },
    mindspore=limited(
        FLOATS,
        {
            "function": "ops.interpolate({x}, scale_factor=float({factor}), mode='nearest',"
            " recompute_scale_factor=True)",
            "module": Form(
                "nn.Upsample(scale_factor=float({factor}), recompute_scale_factor=True)({x})",
                source=default("mindspore.nn.Upsample", "mode='nearest'"),
            ),
            "mint": Form(
                "mint.nn.functional.interpolate({x}, scale_factor=float({factor}), mode='nearest')",
                source="mindspore.mint.nn.functional.interpolate: the table lists CPU",
            ),
            "composed": Form(
                "ops.repeat_interleave(ops.repeat_interleave({x}, {factor}, -1), {factor}, -2)",
                source="mindspore.ops.interpolate: nearest by a whole factor repeats values",
            ),
        },
    ),
    tolerance=Tolerance.EXACT,
    shapes=SHAPES[2],
    tags={"interpolation"},
)
