"""Operators on axes: their order, and axes of extent one."""

from __future__ import annotations

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.rules import (
    MOVING,
    axis,
    default,
    mindspore_method,
    mindspore_primitive,
    normal_axes,
    resized,
    static,
    torch_method,
)
from engine.ops.shape import EXACT, MS
from engine.ops.spec import Form, OpCall, op


# ------------------------------------------------------------------------------ order of axes
def permuted(call: OpCall) -> Dense:
    x, dims = call["x"], call.integers("dims")
    if len(dims) != x.rank:
        raise ConstraintViolated(f"permute: {len(dims)} axes for a tensor of rank {x.rank}")
    return resized(x, (static(x)[at] for at in normal_axes(dims, x.rank)))


op(
    "permute",
    "x",
    attrs={"dims": ((2, 0, 1), (0, 2, 1), (1, 0), (-1, 0, 1), (0, 2, 3, 1), (0, 3, 1, 2))},
    dtypes=MOVING,
    infer=permuted,
    reference=lambda x, dims: x.transpose([at % x.ndim for at in dims]),
    torch={
        "function": "torch.permute({x}, {dims})",
        "method": Form("{x}.permute({dims})", source=torch_method("permute")),
        "keyword": Form("torch.permute(input={x}, dims={dims})", source="torch.permute"),
    },
    mindspore={
        "function": Form("ops.permute({x}, {dims})", dtypes=MS),
        "method": Form("{x}.permute({dims})", dtypes=MS, source=mindspore_method("permute")),
        "function_transpose": Form(
            "ops.transpose({x}, {dims})",
            dtypes=MS,
            source="mindspore.ops.transpose: transpose according to input permutation",
        ),
        "primitive": Form(
            "ops.Transpose()({x}, {dims})",
            dtypes=MS,
            source=mindspore_primitive("Transpose", "transpose"),
        ),
        "keyword": Form("ops.permute(input={x}, axis={dims})", dtypes=MS, source="ops.permute"),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (2, 3), (2, 3, 4, 5), (2, 1, 4), (0, 3, 2)),
    tags={"view"},
    views="x",
)


def transposed(call: OpCall) -> Dense:
    x, shape = call["x"], list(static(call["x"]))
    if x.rank:
        one, two = axis(call.integer("dim0"), x.rank), axis(call.integer("dim1"), x.rank)
        shape[one], shape[two] = shape[two], shape[one]
    return resized(x, shape)


op(
    "transpose",
    "x",
    attrs={"dim0": (1, 0, -2), "dim1": (2, -1, 1)},
    dtypes=MOVING,
    infer=transposed,
    requires=lambda call: ((call["x"].rank > 0, "a scalar has no axes to swap"),),
    reference=lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1),
    torch={
        "function": "torch.transpose({x}, {dim0}, {dim1})",
        "method": Form("{x}.transpose({dim0}, {dim1})", source=torch_method("transpose")),
        "function_swapaxes": Form(
            "torch.swapaxes({x}, {dim0}, {dim1})",
            source="torch.swapaxes: alias for torch.transpose()",
        ),
        "method_mt": Form(
            "{x}.mT",
            when=lambda call: (
                call["x"].rank >= 2
                and {axis(call.integer(d), call["x"].rank) for d in ("dim0", "dim1")}
                == {call["x"].rank - 1, call["x"].rank - 2}
            ),
            source="torch.Tensor.mT: tensor with the last two dimensions transposed",
        ),
        "method_t": Form(
            "{x}.t()",
            when=lambda call: (
                call["x"].rank == 2
                and axis(call.integer("dim0"), 2) != axis(call.integer("dim1"), 2)
            ),
            source="torch.t: transposes dimensions 0 and 1 of a 2-D tensor",
        ),
        "keyword": Form(
            "torch.transpose(input={x}, dim0={dim0}, dim1={dim1})", source="torch.transpose"
        ),
        "inplace": Form(
            "{x}.view_as({x}).transpose_({dim0}, {dim1})",
            source="torch.Tensor.transpose_: in-place version of transpose()",
            restrides=True,
        ),
        "inplace_t": Form(
            "{x}.view_as({x}).t_()",
            when=lambda call: (
                call["x"].rank == 2
                and axis(call.integer("dim0"), 2) != axis(call.integer("dim1"), 2)
            ),
            source="torch.Tensor.t_: in-place version of t()",
            restrides=True,
        ),
    },
    mindspore={
        "function": Form("ops.swapaxes({x}, {dim0}, {dim1})", dtypes=MS),
        "method": Form(
            "{x}.swapaxes({dim0}, {dim1})", dtypes=MS, source=mindspore_method("swapaxes")
        ),
        "function_swapdims": Form(
            "ops.swapdims({x}, {dim0}, {dim1})",
            dtypes=MS,
            source="mindspore.ops.swapdims: interchange two dims of a tensor",
        ),
        "method_t": Form(
            "ops.t({x})",
            when=lambda call: (
                call["x"].rank == 2
                and axis(call.integer("dim0"), 2) != axis(call.integer("dim1"), 2)
            ),
            dtypes=MS,
            source="mindspore.ops.t: transpose a 2-D tensor",
        ),
        "keyword": Form(
            "ops.swapaxes({x}, axis0={dim0}, axis1={dim1})", dtypes=MS, source="ops.swapaxes"
        ),
        "method_swapdims": Form(
            "{x}.swapdims({dim0}, {dim1})", dtypes=MS, source=mindspore_method("swapdims")
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 4), (2, 3, 4, 2), (1, 3, 1)),
    tags={"view"},
    views="x",
)


def moved(call: OpCall) -> Dense:
    x = call["x"]
    source, target = axis(call.integer("source"), x.rank), axis(call.integer("to"), x.rank)
    rest = [extent for at, extent in enumerate(static(x)) if at != source]
    rest.insert(target, static(x)[source])
    return resized(x, rest)


op(
    "movedim",
    "x",
    attrs={"source": (0, 1, -1), "to": (2, 0, -1)},
    dtypes=MOVING,
    infer=moved,
    requires=lambda call: ((call["x"].rank > 0, "a scalar has no axes to move"),),
    reference=lambda x, source, to: np.moveaxis(x, source, to),
    torch={
        "function": "torch.movedim({x}, {source}, {to})",
        "method": Form("{x}.movedim({source}, {to})", source=torch_method("movedim")),
        "function_moveaxis": Form(
            "torch.moveaxis({x}, {source}, {to})", source="torch.moveaxis: alias for movedim()"
        ),
        "keyword": Form(
            "torch.movedim({x}, source={source}, destination={to})", source="torch.movedim"
        ),
    },
    mindspore={
        "function": Form("ops.movedim({x}, {source}, {to})", dtypes=MS),
        "method": Form(
            "{x}.movedim({source}, {to})", dtypes=MS, source=mindspore_method("movedim")
        ),
        "function_moveaxis": Form(
            "ops.moveaxis({x}, {source}, {to})",
            dtypes=MS,
            source="mindspore.ops.moveaxis: alias for mindspore.ops.movedim",
        ),
        "method_moveaxis": Form(
            "{x}.moveaxis({source}, {to})", dtypes=MS, source=mindspore_method("moveaxis")
        ),
    },
    tolerance=EXACT,
    tags={"view"},
    views="x",
)


# ---------------------------------------------------------------------------- extents of one
def unsqueezed(call: OpCall) -> Dense:
    x, dim = call["x"], call.integer("dim")
    at = axis(dim, x.rank + 1)
    return resized(x, (*static(x)[:at], 1, *static(x)[at:]))


op(
    "unsqueeze",
    "x",
    attrs={"dim": (1, 0, -1, -2)},
    dtypes=MOVING,
    infer=unsqueezed,
    reference=lambda x, dim: np.expand_dims(x, dim),
    torch={
        "function": "torch.unsqueeze({x}, {dim})",
        "method": Form("{x}.unsqueeze({dim})", source=torch_method("unsqueeze")),
        "operator": Form(
            "{x}[:, None]", when={"dim": 1}, source="tensor indexing: None inserts an axis"
        ),
        "operator_front": Form(
            "{x}[None]", when={"dim": 0}, source="tensor indexing: None inserts an axis"
        ),
        "operator_last": Form(
            "{x}[..., None]", when={"dim": -1}, source="tensor indexing: None inserts an axis"
        ),
        "keyword": Form("torch.unsqueeze(input={x}, dim={dim})", source="torch.unsqueeze"),
        "inplace": Form(
            "{x}.view_as({x}).unsqueeze_({dim})",
            source="torch.Tensor.unsqueeze_: in-place version of unsqueeze()",
            restrides=True,
        ),
    },
    mindspore={
        "function": Form("ops.expand_dims({x}, {dim})", dtypes=MS),
        "function_unsqueeze": Form(
            "ops.unsqueeze({x}, {dim})",
            dtypes=MS,
            source="mindspore.ops.unsqueeze: adds an additional dimension at the given dim",
        ),
        "method": Form("{x}.expand_dims({dim})", dtypes=MS, source=mindspore_method("expand_dims")),
        "method_unsqueeze": Form(
            "{x}.unsqueeze({dim})", dtypes=MS, source=mindspore_method("unsqueeze")
        ),
        "primitive": Form(
            "ops.ExpandDims()({x}, {dim})",
            dtypes=MS,
            source=mindspore_primitive("ExpandDims", "expand_dims"),
        ),
        "operator": Form(
            "{x}[:, None]",
            when={"dim": 1},
            dtypes=MS,
            source="mindspore tensor indexing: None inserts an axis",
        ),
        "operator_front": Form(
            "{x}[None]",
            when={"dim": 0},
            dtypes=MS,
            source="mindspore tensor indexing: None inserts an axis",
        ),
        "operator_last": Form(
            "{x}[..., None]",
            when={"dim": -1},
            dtypes=MS,
            source="mindspore tensor indexing: None inserts an axis",
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (3,), (2, 0), (1, 1)),
    tags={"view"},
    views="x",
)


def squeezed(call: OpCall) -> Dense:
    x = call["x"]
    at = axis(call.integer("dim"), x.rank)
    return resized(x, (extent for place, extent in enumerate(static(x)) if place != at))


op(
    "squeeze",
    "x",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=squeezed,
    requires=lambda call: (
        (call["x"].rank > 0, "a scalar has no axis to drop"),
        (
            call["x"].rank == 0
            or static(call["x"])[axis(call.integer("dim"), call["x"].rank)] == 1,
            "the extent of the axis is not 1",
        ),
    ),
    reference=lambda x, dim: np.squeeze(x, dim),
    torch={
        "function": "torch.squeeze({x}, {dim})",
        "method": Form("{x}.squeeze({dim})", source=torch_method("squeeze")),
        "keyword": Form("torch.squeeze(input={x}, dim={dim})", source="torch.squeeze"),
        "inplace": Form(
            "{x}.view_as({x}).squeeze_({dim})",
            source="torch.Tensor.squeeze_: in-place version of squeeze()",
            restrides=True,
        ),
        "function_tuple": Form(
            "torch.squeeze({x}, dim=({dim},))", source="torch.squeeze: dim (int or tuple of ints)"
        ),
        "default": Form(
            "torch.squeeze({x})",
            when=lambda call: static(call["x"]).count(1) == 1,
            source=default("torch.squeeze", "every axis of extent 1"),
        ),
        "operator": Form(
            "{x}[:, 0]", when={"dim": 1}, source="tensor indexing: an integer drops the axis"
        ),
    },
    mindspore={
        "function": Form("ops.squeeze({x}, {dim})", dtypes=MS),
        "method": Form("{x}.squeeze({dim})", dtypes=MS, source=mindspore_method("squeeze")),
        "primitive": Form(
            "ops.Squeeze({dim})({x})",
            dtypes=MS,
            source=mindspore_primitive("Squeeze", "squeeze"),
        ),
        "mint": Form("mint.squeeze({x}, {dim})", dtypes=MS, source="mint.squeeze: see squeeze"),
        "keyword": Form("ops.squeeze({x}, axis={dim})", dtypes=MS, source="ops.squeeze"),
        "function_tuple": Form(
            "ops.squeeze({x}, ({dim},))",
            dtypes=MS,
            source="mindspore.ops.squeeze: axis (Union[int, tuple(int), list(int)])",
        ),
        "default": Form(
            "ops.squeeze({x})",
            when=lambda call: static(call["x"]).count(1) == 1,
            dtypes=MS,
            source=default("mindspore.ops.squeeze", "every axis of extent 1"),
        ),
        "operator": Form(
            "{x}[:, 0]",
            when={"dim": 1},
            dtypes=MS,
            source="mindspore tensor indexing: an integer drops the axis",
        ),
    },
    tolerance=EXACT,
    shapes=((2, 1, 4), (1, 3), (2, 1), (1, 1, 1)),
    tags={"view"},
    views="x",
)


def expanded(call: OpCall) -> Dense:
    x, shape = call["x"], call.integers("shape")
    old = static(x)
    if len(shape) < len(old):
        raise ConstraintViolated(f"expand: the shape {shape} has fewer axes than {old}")
    lead = len(shape) - len(old)
    result = list(shape)
    for at, extent in enumerate(old):
        wanted = shape[lead + at]
        if wanted not in (-1, extent) and extent != 1:
            raise ConstraintViolated(f"expand: the extent {extent} does not become {wanted}")
        result[lead + at] = extent if wanted == -1 else wanted
    if any(extent < 0 for extent in result):
        raise ConstraintViolated(f"expand: the shape {shape} leaves a new extent open")
    return resized(x, result)


def expand(x: Array, shape: tuple[int, ...]) -> Array:
    lead = len(shape) - x.ndim
    full = [x.shape[at - lead] if extent == -1 else extent for at, extent in enumerate(shape)]
    return np.broadcast_to(x, full)


op(
    "expand",
    "x",
    attrs={"shape": ((2, 3, 4), (2, -1, 4), (3, 2, 3, 4), (2, 2, 3, 4))},
    dtypes=MOVING,
    infer=expanded,
    reference=expand,
    torch={
        "method": "{x}.expand({shape})",
        "function": Form(
            "torch.broadcast_to({x}, {shape})",
            source="torch.broadcast_to: equivalent to calling input.expand(shape)",
        ),
        "method_broadcast": Form("{x}.broadcast_to({shape})", source=torch_method("broadcast_to")),
    },
    mindspore={
        "function": Form("ops.broadcast_to({x}, {shape})", dtypes=MS),
        "method": Form(
            "{x}.broadcast_to({shape})", dtypes=MS, source=mindspore_method("broadcast_to")
        ),
        "method_expand": Form(
            "{x}.expand({shape})", dtypes=MS, source=mindspore_method("expand", "broadcast_to")
        ),
        "primitive": Form(
            "ops.BroadcastTo({shape})({x})",
            dtypes=MS,
            source=mindspore_primitive("BroadcastTo", "broadcast_to"),
        ),
        "mint": Form(
            "mint.nn.functional.broadcast_to({x}, {shape})",
            dtypes=MS,
            source="mindspore.mint.nn.functional.broadcast_to(input, shape)",
        ),
    },
    tolerance=EXACT,
    shapes=((2, 1, 4), (1, 3, 4), (3, 4), (2, 3, 1)),
    tags={"view", "expanded"},
    views="x",
)
