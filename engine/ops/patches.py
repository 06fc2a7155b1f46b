"""Sampling over a grid, and images from and to columns of patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr
from engine.ir.types import Dense
from engine.ops.interpolation import FLOATS
from engine.ops.numeric import Array, sliding, widened
from engine.ops.operands import spread
from engine.ops.rules import (
    Requirement,
    default,
    limited,
    many_integers,
    resized,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op


# ---------------------------------------------------------------------------------------- grids
def grid_fits(call: OpCall) -> Requirement:
    yield call["x"].rank == 4, "the input is not a batch of images"
    yield call["grid"].rank == 4, "the grid is not of shape (N, H, W, 2)"
    x, grid = static(call["x"]), static(call["grid"])
    yield 0 not in x and 0 not in grid, "an operand is empty"
    yield grid[0] == x[0] and grid[-1] == 2, f"the grid {grid} does not fit the input {x}"


def grid_type(call: OpCall) -> Dense:
    x, grid = static(call["x"]), static(call["grid"])
    return resized(call["x"], (*x[:2], *grid[1:3]))


def unnormalised(place: Array, extent: int, *, align_corners: bool) -> Array:
    if align_corners:
        return (place + 1) / 2 * (extent - 1)
    return ((place + 1) * extent - 1) / 2


def reflected(place: Array, extent: int, *, align_corners: bool) -> Array:
    low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
    width = high - low
    if width == 0:
        return np.zeros_like(place)
    gap = np.abs(place - low)
    turns, rest = np.floor(gap / width), np.fmod(gap, width)
    return np.where(turns % 2 == 0, rest + low, width - rest + low)


def grid_sample(
    x: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool
) -> Array:
    height, width = x.shape[2:]
    places = []
    for coordinate, extent in ((grid[..., 1], height), (grid[..., 0], width)):
        place = unnormalised(coordinate, extent, align_corners=align_corners)
        if padding_mode == "reflection":
            place = reflected(place, extent, align_corners=align_corners)
        if padding_mode != "zeros":
            place = np.clip(place, 0, extent - 1)
        places.append(place)
    batch = np.arange(x.shape[0]).reshape(-1, 1, 1)

    def read(row: Array, column: Array) -> Array:
        legal = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        inner = x[
            batch,
            :,
            np.clip(row, 0, height - 1).astype(int),
            np.clip(column, 0, width - 1).astype(int),
        ]
        return np.moveaxis(np.where(legal[..., None], inner, 0), -1, 1)

    if mode == "nearest":
        return read(*(np.rint(place) for place in places)).astype(x.dtype)
    rows, columns = (np.floor(place) for place in places)
    result = np.zeros((*x.shape[:2], *grid.shape[1:3]), x.dtype)
    for down in (0, 1):
        for right in (0, 1):
            share = (1 - np.abs(places[0] - rows - down)) * (
                1 - np.abs(places[1] - columns - right)
            )
            result += (read(rows + down, columns + right) * share[:, None]).astype(x.dtype)
    return result


op(
    "grid_sample",
    "x grid",
    attrs={
        "mode": ("bilinear", "nearest"),
        "padding_mode": ("zeros", "border", "reflection"),
        "align_corners": (False, True),
    },
    dtypes=FLOATS,
    infer=grid_type,
    requires=grid_fits,
    reference=widened(
        lambda x, grid, mode, padding_mode, align_corners: grid_sample(
            x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners
        )
    ),
    torch={
        "function": "F.grid_sample({x}, {grid}, mode={mode}, padding_mode={padding_mode},"
        " align_corners={align_corners})",
        "keyword": Form(
            "F.grid_sample(input={x}, grid={grid}, mode={mode}, padding_mode={padding_mode},"
            " align_corners={align_corners})",
            source="torch.nn.functional.grid_sample",
        ),
        "default": Form(
            "F.grid_sample({x}, {grid}, align_corners={align_corners})",
            when=lambda call: (
                call.attr("mode") == "bilinear" and call.attr("padding_mode") == "zeros"
            ),
            source=default("F.grid_sample", "mode='bilinear', padding_mode='zeros'"),
        ),
    },
    mindspore=limited(
        FLOATS,
        {
            "function": "ops.grid_sample({x}, {grid}, {mode}, {padding_mode}, {align_corners})",
            "mint": Form(
                "mint.nn.functional.grid_sample({x}, {grid}, {mode}, {padding_mode},"
                " {align_corners})",
                source="mindspore.mint.nn.functional.grid_sample: the same arguments",
            ),
            "keyword": Form(
                "ops.grid_sample({x}, {grid}, mode={mode}, padding_mode={padding_mode},"
                " align_corners={align_corners})",
                source="mindspore.ops.grid_sample",
            ),
            "primitive": Form(
                "ops.GridSampler2D({mode}, {padding_mode}, {align_corners})({x}, {grid})",
                source="mindspore.ops.GridSampler2D: interpolation_mode, padding_mode",
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {
        "grid": spread("grid", x.dtype, shape_of(x, 4)[0], 3, 2, 2, low=-1.3, high=1.3)
    },
    shapes=((2, 3, 5, 4), (1, 1, 3, 3)),
    tags={"interpolation"},
)


def affine_grid(theta: Array, size: tuple[int, ...], *, align_corners: bool) -> Array:
    axes = []
    for extent in size[2:]:
        line = np.linspace(-1, 1, extent) if extent > 1 else np.zeros(1)
        axes.append(line if align_corners else line * (extent - 1) / extent)
    down, across = np.meshgrid(*axes, indexing="ij")
    points = np.stack((across, down, np.ones_like(down)), -1).astype(theta.dtype)
    found: Array = np.einsum("hwk,njk->nhwj", points, theta)
    return found


def affine_type(call: OpCall) -> Dense:
    batch, rows, columns = shape_of(call["x"], 3)
    size = call.integers("size")
    if (rows, columns) != (2, 3) or len(size) != 4 or size[0] != batch:
        raise ConstraintViolated(f"{call['x']} holds no affine maps of images of size {size}")
    return resized(call["x"], (batch, *size[2:], 2))


op(
    "affine_grid",
    "x",
    attrs={"size": ((2, 3, 4, 5), (1, 1, 3, 3)), "align_corners": (False, True)},
    dtypes=FLOATS,
    infer=affine_type,
    reference=widened(
        lambda x, size, align_corners: affine_grid(x, size, align_corners=align_corners)
    ),
    torch={
        "function": "F.affine_grid({x}, {size}, align_corners={align_corners})",
        "keyword": Form(
            "F.affine_grid(theta={x}, size={size}, align_corners={align_corners})",
            source="torch.nn.functional.affine_grid",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": "ops.affine_grid({x}, {size}, {align_corners})",
            "keyword": Form(
                "ops.affine_grid(theta={x}, size={size}, align_corners={align_corners})",
                source="mindspore.ops.affine_grid",
            ),
            "default": Form(
                "ops.affine_grid({x}, {size})",
                when={"align_corners": False},
                source=default("mindspore.ops.affine_grid", "align_corners=False"),
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    shapes=((2, 2, 3), (1, 2, 3)),
    tags={"interpolation"},
)


# --------------------------------------------------------------------------- columns of patches
PATCHES: Mapping[str, tuple[Attr, ...]] = {
    "kernel": (2, 3),
    "dilation": (1, 2),
    "padding": (0, 1),
    "stride": (1, 2),
}


def patch_counts(call: OpCall, extents: tuple[int, ...]) -> tuple[int, ...]:
    kernel, dilation, padding, stride = (many_integers(call, name, 2) for name in PATCHES)
    if min((*kernel, *dilation, *stride)) < 1 or min(padding) < 0:
        raise ConstraintViolated("a size of the patches is not positive")
    counts = tuple(
        (e + 2 * p - d * (k - 1) - 1) // s + 1
        for e, k, d, p, s in zip(extents, kernel, dilation, padding, stride, strict=True)
    )
    if min(counts) < 1:
        raise ConstraintViolated("the patch is larger than the padded input")
    return counts


def columns_type(call: OpCall) -> Dense:
    batch, channels, *extents = shape_of(call["x"], 4)
    if 0 in (batch, channels, *extents):
        raise ConstraintViolated("the input is empty")
    high, wide = patch_counts(call, tuple(extents))
    area = int(np.prod(many_integers(call, "kernel", 2)))
    return resized(call["x"], (batch, channels * area, high * wide))


def pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def im2col(x: Array, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    kernel, dilation, (down, right), stride = map(pair, (kernel, dilation, padding, stride))
    padded = np.pad(x, ((0, 0), (0, 0), (down, down), (right, right)))
    windows = sliding(padded, kernel, stride, dilation)
    columns = windows.transpose(0, 1, 4, 5, 2, 3)
    return columns.reshape((x.shape[0], x.shape[1] * kernel[0] * kernel[1], -1))


op(
    "im2col",
    "x",
    attrs=PATCHES,
    dtypes=FLOATS,
    infer=columns_type,
    reference=im2col,
    torch={
        "function": "F.unfold({x}, {kernel}, {dilation}, {padding}, {stride})",
        "module": Form(
            "nn.Unfold({kernel}, {dilation}, {padding}, {stride})({x})",
            source="torch.nn.Unfold: see torch.nn.functional.unfold",
        ),
        "keyword": Form(
            "F.unfold({x}, kernel_size={kernel}, dilation={dilation}, padding={padding},"
            " stride={stride})",
            source="torch.nn.functional.unfold",
        ),
        "default": Form(
            "F.unfold({x}, {kernel})",
            when=lambda call: (
                (call.attr("dilation"), call.attr("padding"), call.attr("stride")) == (1, 0, 1)
            ),
            source=default("torch.nn.functional.unfold", "dilation=1, padding=0, stride=1"),
        ),
    },
    mindspore=limited(
        FLOATS,
        {
            "function": "ops.unfold({x}, {kernel}, {dilation}, {padding}, {stride})",
            "keyword": Form(
                "ops.unfold({x}, kernel_size={kernel}, dilation={dilation}, padding={padding},"
                " stride={stride})",
                source="mindspore.ops.unfold",
            ),
            "default": Form(
                "ops.unfold({x}, {kernel})",
                when=lambda call: (
                    (
                        call.attr("dilation"),
                        call.attr("padding"),
                        call.attr("stride"),
                    )
                    == (1, 0, 1)
                ),
                source=default("mindspore.ops.unfold", "dilation=1, padding=0, stride=1"),
            ),
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Im2Col({kernel}, {stride}, {dilation}, {padding})",),
                result="{out}.reshape({out}.shape[0], -1, {out}.shape[3])",
                source="mindspore.ops.Im2Col: output of shape (N, C, kernel area, L)",
            ),
            "method": Form(
                "{x}.unfold({kernel}, {dilation}, {padding}, {stride})",
                source="mindspore.Tensor.unfold: for details refer to mindspore.ops.unfold",
            ),
        },
    ),
    tolerance=Tolerance.EXACT,
    shapes=((2, 3, 5, 4), (1, 1, 3, 3)),
    tags={"windows"},
)


def image_type(call: OpCall) -> Dense:
    batch, rows, columns = shape_of(call["x"], 3)
    size = many_integers(call, "size", 2)
    area = int(np.prod(many_integers(call, "kernel", 2)))
    if not batch or not rows or rows % area:
        raise ConstraintViolated(f"{rows} rows do not hold patches of {area} values")
    high, wide = patch_counts(call, size)
    if high * wide != columns:
        raise ConstraintViolated(f"{columns} columns, but the image has {high * wide} patches")
    return resized(call["x"], (batch, rows // area, *size))


def col2im(x: Array, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    size, kernel, dilation, padding, stride = map(pair, (size, kernel, dilation, padding, stride))
    counts = [
        (e + 2 * p - d * (k - 1) - 1) // s + 1
        for e, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    ]
    patches = x.reshape((x.shape[0], -1, *kernel, *counts))
    result = np.zeros(
        (*patches.shape[:2], size[0] + 2 * padding[0], size[1] + 2 * padding[1]), x.dtype
    )
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            top, left = row * dilation[0], column * dilation[1]
            result[
                :,
                :,
                top : top + (counts[0] - 1) * stride[0] + 1 : stride[0],
                left : left + (counts[1] - 1) * stride[1] + 1 : stride[1],
            ] += patches[:, :, row, column]
    return result[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


op(
    "col2im",
    "x",
    attrs={"size": ((5, 4), (3, 3)), **PATCHES},
    dtypes=FLOATS,
    infer=image_type,
    reference=widened(col2im),
    torch={
        "function": "F.fold({x}, {size}, {kernel}, {dilation}, {padding}, {stride})",
        "module": Form(
            "nn.Fold({size}, {kernel}, {dilation}, {padding}, {stride})({x})",
            source="torch.nn.Fold: see torch.nn.functional.fold",
        ),
        "keyword": Form(
            "F.fold({x}, output_size={size}, kernel_size={kernel}, dilation={dilation},"
            " padding={padding}, stride={stride})",
            source="torch.nn.functional.fold",
        ),
    },
    mindspore=limited(
        FLOATS,
        {
            "function": "ops.fold({x}, Tensor({size}, ms.int32), {kernel}, {dilation}, {padding},"
            " {stride})",
            "primitive": Form(
                "ops.Col2Im(({kernel}, {kernel}), ({dilation}, {dilation}),"
                " ({padding}, {padding}), ({stride}, {stride}))"
                "({x}.reshape({x}.shape[0], -1, {kernel} * {kernel}, {x}.shape[2]),"
                " Tensor({size}, ms.int32))",
                source="mindspore.ops.Col2Im: columns of shape (N, C, kernel area, L)",
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    shapes=((2, 12, 12), (1, 4, 4), (1, 9, 1)),
    tags={"windows"},
)
