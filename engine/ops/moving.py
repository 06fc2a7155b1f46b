"""Values repeated, reversed, rotated and rearranged in blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import Dense
from engine.ops.joining import EXACT, MS
from engine.ops.numeric import Array
from engine.ops.rules import (
    MINDSPORE_NUMBERS,
    MOVING,
    Requirement,
    axis,
    default,
    limited,
    mindspore_method,
    normal_axes,
    product,
    resized,
    same_as_first,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, op


# ----------------------------------------------------------------------------------- repetition
def tiled_type(call: OpCall) -> Dense:
    shape, dims = static(call["x"]), call.integers("dims")
    rank = max(len(shape), len(dims))
    pairs = zip((1,) * (rank - len(shape)) + shape, (1,) * (rank - len(dims)) + dims, strict=True)
    return resized(call["x"], (extent * times for extent, times in pairs))


op(
    "tile",
    "x",
    attrs={"dims": ((2, 1, 2), (2,), (1, 3), (2, 1, 1, 2))},
    dtypes=MOVING,
    infer=tiled_type,
    requires=lambda call: (
        (min(call.integers("dims")) > 0, "a number of repetitions is not positive"),
        (0 not in static(call["x"]), "the input is empty"),
    ),
    reference=lambda x, dims: np.tile(x, dims),
    torch={
        "function": "torch.tile({x}, {dims})",
        "method": Form("{x}.tile({dims})", source=torch_method("tile")),
        "method_repeat": Form(
            "{x}.repeat({dims})",
            when=lambda call: len(call.integers("dims")) >= call["x"].rank,
            source="torch.Tensor.repeat: repeats along the specified dimensions, as tile",
        ),
        "keyword": Form("torch.tile({x}, dims={dims})", source="torch.tile"),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.tile({x}, {dims})",
            "method": Form("{x}.tile({dims})", source="mindspore.Tensor.tile(dims)"),
            "mint": Form("mint.tile({x}, {dims})", source="mindspore.mint.tile(input, dims)"),
            "primitive": Form(
                "ops.Tile()({x}, {dims})", source="mindspore.ops.Tile: refer to ops.tile"
            ),
            "keyword": Form("ops.tile(input={x}, dims={dims})", source="ops.tile"),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 2), (4,), (1, 1)),
    tags={"repetition"},
)


def interleaved_type(call: OpCall) -> Dense:
    shape, times = static(call["x"]), call.integer("repeats")
    if call.attr("dim") is None:
        return resized(call["x"], (product(shape) * times,))
    at = axis(call.integer("dim"), len(shape))
    return resized(call["x"], (*shape[:at], shape[at] * times, *shape[at + 1 :]))


op(
    "repeat_interleave",
    "x",
    attrs={"repeats": (2, 1, 3), "dim": (1, 0, -1, None)},
    dtypes=MOVING,
    infer=interleaved_type,
    requires=lambda call: (
        (call["x"].rank > 0, "a scalar has no axis to repeat along"),
        (call.integer("repeats") > 0, "the number of repetitions is not positive"),
    ),
    reference=lambda x, repeats, dim: np.repeat(x, repeats, axis=dim),
    torch={
        "function": "torch.repeat_interleave({x}, {repeats}, {dim})",
        "method": Form(
            "{x}.repeat_interleave({repeats}, {dim})", source=torch_method("repeat_interleave")
        ),
        "keyword": Form(
            "torch.repeat_interleave({x}, repeats={repeats}, dim={dim})",
            source="torch.repeat_interleave",
        ),
        "tensor": Form(
            "torch.repeat_interleave({x}, torch.tensor({repeats}), {dim})",
            source="torch.repeat_interleave: repeats (Tensor or int), broadcast to the axis",
        ),
        "default": Form(
            "torch.repeat_interleave({x}, {repeats})",
            when={"dim": None},
            source=default("torch.repeat_interleave", "dim=None"),
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "function": "ops.repeat_interleave({x}, {repeats}, {dim})",
            "keyword": Form(
                "ops.repeat_interleave({x}, repeats={repeats}, axis={dim})",
                source="mindspore.ops.repeat_interleave(input, repeats, axis=None)",
            ),
            "function_elements": Form(
                "ops.repeat_elements({x}, {repeats}, {dim})",
                when=lambda call: call.attr("dim") is not None,
                dtypes=("float32", "float16", "int8", "uint8", "int16", "int32", "int64"),
                source="mindspore.ops.repeat_elements: repeat elements along an axis",
            ),
            "default": Form(
                "ops.repeat_interleave({x}, {repeats})",
                when={"dim": None},
                source=default("mindspore.ops.repeat_interleave", "axis=None"),
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (3,), (2, 1)),
    tags={"repetition"},
)


# --------------------------------------------------------------------------- reversed, rotated
op(
    "flip",
    "x",
    attrs={"dims": ((1,), (0, 2), (-1,), (0,))},
    dtypes=MOVING,
    infer=lambda call: (
        normal_axes(call.integers("dims"), call["x"].rank),
        same_as_first(call),
    )[1],
    requires=lambda call: ((call["x"].rank > 0, "a scalar has no axis to reverse"),),
    reference=lambda x, dims: np.flip(x, dims),
    torch={
        "function": "torch.flip({x}, {dims})",
        "method": Form("{x}.flip({dims})", source=torch_method("flip")),
        "keyword": Form("torch.flip({x}, dims={dims})", source="torch.flip"),
        "function_fliplr": Form(
            "torch.fliplr({x})",
            when=lambda call: call["x"].rank >= 2 and call.integers("dims") == (1,),
            source="torch.fliplr: flip in the left-right direction, the second axis",
        ),
        "function_flipud": Form(
            "torch.flipud({x})",
            when={"dims": (0,)},
            source="torch.flipud: flip in the up-down direction, the first axis",
        ),
        "composed": Form(
            "{x}[torch.arange({x}.shape[0] - 1, -1, -1)]",
            when={"dims": (0,)},
            source="torch.flip: reverses the order along the axis",
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.flip({x}, {dims})",
            "method": Form("{x}.flip({dims})", source=mindspore_method("flip")),
            "mint": Form("mint.flip({x}, {dims})", source="mindspore.mint.flip(input, dims)"),
            "keyword": Form("ops.flip({x}, dims={dims})", source="ops.flip"),
            "primitive": Form(
                "ops.ReverseV2({dims})({x})",
                source="mindspore.ops.ReverseV2: refer to mindspore.ops.flip",
            ),
            "function_fliplr": Form(
                "ops.fliplr({x})",
                when=lambda call: call["x"].rank >= 2 and call.integers("dims") == (1,),
                source="mindspore.ops.fliplr: flip in the left-right direction",
            ),
            "function_flipud": Form(
                "ops.flipud({x})",
                when={"dims": (0,)},
                source="mindspore.ops.flipud: flip in the up-down direction",
            ),
            "method_flipud": Form(
                "{x}.flipud()", when={"dims": (0,)}, source=mindspore_method("flipud")
            ),
            "method_fliplr": Form(
                "{x}.fliplr()",
                when=lambda call: call["x"].rank >= 2 and call.integers("dims") == (1,),
                source=mindspore_method("fliplr"),
            ),
            "function_reverse": Form(
                "ops.reverse({x}, {dims})",
                source="mindspore.ops.reverse: reverses along the axes given",
            ),
            "method_reverse": Form("{x}.reverse({dims})", source=mindspore_method("reverse")),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 4), (4,)),
    tags={"shape-preserving"},
)

op(
    "roll",
    "x",
    attrs={"shift": (1, -1, 2, 0), "dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=lambda call: (axis(call.integer("dim"), call["x"].rank), same_as_first(call))[1],
    requires=lambda call: (
        (call["x"].rank > 0, "a scalar has no axis to roll along"),
        (0 not in static(call["x"]), "the input is empty"),
    ),
    reference=lambda x, shift, dim: np.roll(x, shift, axis=dim),
    torch={
        "function": "torch.roll({x}, {shift}, {dim})",
        "method": Form("{x}.roll({shift}, {dim})", source=torch_method("roll")),
        "keyword": Form(
            "torch.roll({x}, shifts=({shift},), dims=({dim},))",
            source="torch.roll: shifts and dims (int or tuple of ints)",
        ),
        "default": Form(
            "torch.roll({x}, {shift})",
            when=lambda call: call["x"].rank == 1,
            source="torch.roll: without dims the tensor is flattened before rolling",
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "composed": "ops.gather({x}, (ops.arange({x}.shape[{dim}]) - {shift})"
            " % {x}.shape[{dim}], {dim})",
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 4), (5,), (1, 2)),
    tags={"shape-preserving"},
)


def rotated_type(call: OpCall) -> Dense:
    dims = call.integers("dims")
    shape = static(call["x"])
    one, two = normal_axes(dims, len(shape))
    if call.integer("k") % 2 == 0:
        return same_as_first(call)
    result = list(shape)
    result[one], result[two] = shape[two], shape[one]
    return resized(call["x"], result)


op(
    "rot90",
    "x",
    attrs={"k": (1, 2, -1, 0), "dims": ((0, 1), (1, 2), (1, 0))},
    dtypes=MOVING,
    infer=rotated_type,
    requires=lambda call: ((call["x"].rank >= 2, "the input has fewer than two axes"),),
    reference=lambda x, k, dims: np.rot90(x, k, dims),
    torch={
        "function": "torch.rot90({x}, {k}, {dims})",
        "method": Form("{x}.rot90({k}, {dims})", source=torch_method("rot90")),
        "default": Form(
            "torch.rot90({x}, {k})",
            when={"dims": (0, 1)},
            source=default("torch.rot90", "dims=(0, 1)"),
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "function": "ops.rot90({x}, {k}, {dims})",
            "method": Form("{x}.rot90({k}, {dims})", source=mindspore_method("rot90")),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 4)),
    tags={"rotation"},
)


def shuffled(x: Array, groups: int) -> Array:
    batch, channels, *rest = x.shape
    parts = x.reshape((batch, groups, channels // groups, *rest))
    return np.swapaxes(parts, 1, 2).reshape(x.shape)


def groups_fit(call: OpCall) -> Requirement:
    yield call["x"].rank >= 3, "the input has fewer than three axes"
    groups, shape = call.integer("groups"), static(call["x"])
    yield groups > 0 and shape[1] % groups == 0, f"{groups} groups do not divide the channels"
    yield 0 not in shape, "the input is empty"


op(
    "channel_shuffle",
    "x",
    attrs={"groups": (2, 4, 1)},
    dtypes=("float32", "float64", "float16"),
    infer=same_as_first,
    requires=groups_fit,
    reference=lambda x, groups: shuffled(x, groups),
    torch={
        "function": "F.channel_shuffle({x}, {groups})",
        "module": Form(
            "nn.ChannelShuffle({groups})({x})",
            source="torch.nn.ChannelShuffle: divides and rearranges the channels",
        ),
        "composed": Form(
            "{x}.unflatten(1, ({groups}, -1)).transpose(1, 2).flatten(1, 2)",
            source="torch.nn.ChannelShuffle: (C / g, g) rearranged to (g, C / g)",
        ),
    },
    mindspore=limited(
        ("float32", "float64", "float16"),
        {
            "module": Form(
                "nn.ChannelShuffle({groups})({x})",
                source="mindspore.nn.ChannelShuffle: divides and rearranges the channels",
            ),
            "function": Form(
                "ops.channel_shuffle({x}, {groups})",
                when=lambda call: call["x"].rank == 4,
                source="mindspore.ops.channel_shuffle: channels of (*, C, H, W)",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 4, 3, 2), (1, 4, 2)),
    tags={"shape-preserving"},
)


# ----------------------------------------------------------------------------- blocks of pixels
def shuffle_type(call: OpCall) -> Dense:
    *lead, channels, height, width = pixel_shape(call)
    factor = call.integer("factor")
    if channels % factor**2:
        raise ConstraintViolated(f"{factor}^2 does not divide {channels} channels")
    return resized(call["x"], (*lead, channels // factor**2, height * factor, width * factor))


def unshuffle_type(call: OpCall) -> Dense:
    *lead, channels, height, width = pixel_shape(call)
    factor = call.integer("factor")
    if height % factor or width % factor:
        raise ConstraintViolated(f"{factor} does not divide {height} x {width}")
    return resized(call["x"], (*lead, channels * factor**2, height // factor, width // factor))


def pixel_shape(call: OpCall) -> tuple[int, ...]:
    shape = static(call["x"])
    if len(shape) < 3 or 0 in shape:
        raise ConstraintViolated(f"{shape} is no image with channels")
    return shape


def pixel_shuffle(x: Array, factor: int) -> Array:
    *lead, c, h, w = x.shape
    n = len(lead)
    parts = x.reshape((*lead, c // factor**2, factor, factor, h, w))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return parts.transpose(order).reshape((*lead, c // factor**2, h * factor, w * factor))


def pixel_unshuffle(x: Array, factor: int) -> Array:
    *lead, c, h, w = x.shape
    n = len(lead)
    parts = x.reshape((*lead, c, h // factor, factor, w // factor, factor))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return parts.transpose(order).reshape((*lead, c * factor**2, h // factor, w // factor))


def pixel_row(name: str, layer: str, infer: Callable[[OpCall], Dense]) -> None:
    reference = pixel_shuffle if name == "pixel_shuffle" else pixel_unshuffle
    shapes = ((2, 4, 3, 2), (1, 9, 1, 1)) if name == "pixel_shuffle" else ((2, 1, 4, 6), (3, 3, 3))
    op(
        name,
        "x",
        attrs={"factor": (2, 3, 1)},
        dtypes=("float32", "float64", "float16", "bfloat16", "int32", "int64"),
        infer=infer,
        reference=lambda x, factor: reference(x, factor),
        torch={
            "function": f"F.{name}({{x}}, {{factor}})",
            "module": Form(
                f"nn.{layer}({{factor}})({{x}})", source=f"torch.nn.{layer}: see {name}"
            ),
            "function_torch": Form(
                f"torch.{name}({{x}}, {{factor}})",
                source=f"torch.nn.functional.{name} is torch.{name}",
            ),
        },
        mindspore=limited(
            ("float32", "float64", "float16", "int32", "int64"),
            {
                "function": f"ops.{name}({{x}}, {{factor}})",
                "module": Form(
                    f"nn.{layer}({{factor}})({{x}})", source=f"mindspore.nn.{layer}: see {name}"
                ),
            },
        ),
        tolerance=EXACT,
        shapes=shapes,
        tags={"pixels"},
    )


pixel_row("pixel_shuffle", "PixelShuffle", shuffle_type)
pixel_row("pixel_unshuffle", "PixelUnshuffle", unshuffle_type)
