"""Operators that change the shape or the view of a tensor and move no values."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import Dense, Tuple
from engine.ops.numeric import Array
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MOVING,
    Requirement,
    axis,
    axis_is,
    default,
    like,
    mindspore_method,
    mindspore_primitive,
    normal_axes,
    product,
    resized,
    same_as_first,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
MS = MINDSPORE_MOVING


# ------------------------------------------------------------------------------ reshape, view
def resolved(shape: tuple[int, ...], elements: int) -> tuple[int, ...]:
    """The shape with -1 replaced by what is left of the elements."""
    known = product(extent for extent in shape if extent != -1)
    if -1 not in shape:
        return shape
    return tuple(elements // max(known, 1) if extent == -1 else extent for extent in shape)


def reshape_fits(call: OpCall) -> Requirement:
    shape, elements = call.integers("shape"), product(static(call["x"]))
    known = product(extent for extent in shape if extent != -1)
    yield shape.count(-1) <= 1, f"the shape {shape} leaves more than one extent open"
    yield all(extent >= -1 for extent in shape), f"the shape {shape} has a negative extent"
    if -1 in shape:
        yield known > 0 and elements % known == 0, f"{elements} elements do not fill {shape}"
    else:
        yield known == elements, f"{elements} elements do not fill {shape}"


def reshaped(call: OpCall) -> Dense:
    x = call["x"]
    return resized(x, resolved(call.integers("shape"), product(static(x))))


def only_splits(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Whether each old axis becomes a run of new axes: legal for every memory layout."""
    place = 0
    for extent in old:
        have = 1
        while place < len(new) and have < extent:
            have *= new[place]
            place += 1
        if have != extent:
            return False
    return all(extent == 1 for extent in new[place:]) and 0 not in old


def view_fits(call: OpCall) -> Requirement:
    yield from reshape_fits(call)
    new = resolved(call.integers("shape"), product(static(call["x"])))
    yield (
        only_splits(static(call["x"]), new),
        f"a view as {new} merges axes, which only a contiguous tensor allows",
    )


op(
    "reshape",
    "x",
    attrs={"shape": ((6, 4), (-1,), (2, -1), (4, 1, 6))},
    dtypes=MOVING,
    infer=reshaped,
    requires=reshape_fits,
    reference=lambda x, shape: x.reshape(shape),
    torch={
        "function": "torch.reshape({x}, {shape})",
        "method": Form("{x}.reshape({shape})", source=torch_method("reshape")),
        "keyword": Form("torch.reshape(input={x}, shape={shape})", source="torch.reshape"),
    },
    mindspore={
        "function": Form("ops.reshape({x}, {shape})", dtypes=MS),
        "method": Form("{x}.reshape({shape})", dtypes=MS, source=mindspore_method("reshape")),
        "primitive": Form(
            "ops.Reshape()({x}, {shape})",
            dtypes=MS,
            source=mindspore_primitive("Reshape", "reshape"),
        ),
        "mint": Form("mint.reshape({x}, {shape})", dtypes=MS, source="mint.reshape: see reshape"),
        "keyword": Form("ops.reshape(input={x}, shape={shape})", dtypes=MS, source="ops.reshape"),
    },
    tolerance=EXACT,
    tags={"view", "reshape"},
    views="x",
)

op(
    "view",
    "x",
    attrs={"shape": ((2, 3, 2, 2), (2, 3, 4, 1), (1, 2, 3, 4), (2, 3, -1))},
    dtypes=MOVING,
    infer=reshaped,
    requires=view_fits,
    reference=lambda x, shape: x.reshape(shape),
    torch={
        "method": "{x}.view({shape})",
        "keyword": Form("{x}.view(size={shape})", source="torch.Tensor.view: view(*shape)"),
    },
    mindspore=Form("{x}.view({shape})", dtypes=MS),
    tolerance=EXACT,
    tags={"view", "reshape"},
    views="x",
    doc="Only shapes that split axes, so that the memory layout of the operand does not matter.",
)


# --------------------------------------------------------------------------- flatten, unflatten
def flattened(call: OpCall) -> Dense:
    x = call["x"]
    shape = static(x)
    start, end = axis(call.integer("start_dim"), x.rank), axis(call.integer("end_dim"), x.rank)
    if not shape:
        return resized(x, (1,))
    if start > end:
        raise ConstraintViolated(f"flatten: axis {start} lies behind axis {end}")
    middle = product(shape[start : end + 1])
    return resized(x, (*shape[:start], middle, *shape[end + 1 :]))


def flatten(x: Array, start_dim: int, end_dim: int) -> Array:
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape((*x.shape[:start], product(x.shape[start : end + 1]), *x.shape[end + 1 :]))


op(
    "flatten",
    "x",
    attrs={"start_dim": (1, 0, -2), "end_dim": (-1, 1)},
    dtypes=MOVING,
    infer=flattened,
    reference=flatten,
    shapes=((2, 3, 4), (3, 4), (2, 2, 2, 2), ()),
    torch={
        "function": "torch.flatten({x}, {start_dim}, {end_dim})",
        "method": Form("{x}.flatten({start_dim}, {end_dim})", source=torch_method("flatten")),
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.Flatten({start_dim}, {end_dim})",),
            source="torch.nn.Flatten(start_dim, end_dim): flattens a range of dims, see flatten",
        ),
        "keyword": Form(
            "torch.flatten({x}, start_dim={start_dim}, end_dim={end_dim})", source="torch.flatten"
        ),
        "default": Form(
            "torch.flatten({x}, {start_dim})",
            when={"end_dim": -1},
            source=default("torch.flatten", "end_dim=-1"),
        ),
        "default_all": Form(
            "{x}.ravel()",
            when={"start_dim": 0, "end_dim": -1},
            source="torch.ravel: return a contiguous flattened tensor",
        ),
        "default_module": Form(
            "nn.Flatten()({x})",
            when={"start_dim": 1, "end_dim": -1},
            source=default("torch.nn.Flatten", "start_dim=1, end_dim=-1"),
        ),
    },
    mindspore={
        "function": Form("ops.flatten({x}, start_dim={start_dim}, end_dim={end_dim})", dtypes=MS),
        "method": Form(
            "{x}.flatten(start_dim={start_dim}, end_dim={end_dim})",
            dtypes=MS,
            source="mindspore.Tensor.flatten(start_dim=0, end_dim=-1): flatten along dimensions",
        ),
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.Flatten(start_dim={start_dim}, end_dim={end_dim})",),
            dtypes=MS,
            source="mindspore.nn.Flatten(start_dim=1, end_dim=-1): from start_dim to end_dim",
        ),
        "mint": Form(
            "mint.flatten({x}, {start_dim}, {end_dim})",
            dtypes=MS,
            source="mindspore.mint.nn.functional.flatten(input, start_dim=0, end_dim=-1)",
        ),
        "primitive": Form(
            "ops.Flatten()({x})",
            when=lambda call: call["x"].rank == 2 and call.attrs == {"start_dim": 1, "end_dim": -1},
            dtypes=MS,
            source="mindspore.ops.Flatten: flattens without changing the batch axis",
        ),
        "default": Form(
            "ops.flatten({x}, start_dim={start_dim})",
            when={"end_dim": -1},
            dtypes=MS,
            source=default("mindspore.ops.flatten", "end_dim=-1"),
        ),
        "default_all": Form(
            "ops.ravel({x})",
            when={"start_dim": 0, "end_dim": -1},
            dtypes=MS,
            source="mindspore.ops.ravel: expand to a 1-D tensor",
        ),
    },
    tolerance=EXACT,
    tags={"view", "reshape"},
    views="x",
)


def unflattened(call: OpCall) -> Dense:
    x, sizes = call["x"], call.integers("sizes")
    if x.rank == 0:
        raise ConstraintViolated("unflatten: a tensor without axes has none to split")
    at, shape = axis(call.integer("dim"), x.rank), static(x)
    if -1 in sizes or product(sizes) != shape[at]:
        raise ConstraintViolated(f"unflatten: sizes {sizes} do not fill the extent {shape[at]}")
    return resized(x, (*shape[:at], *sizes, *shape[at + 1 :]))


op(
    "unflatten",
    "x",
    attrs={"dim": (2, -1, 0), "sizes": ((2, 2), (1, 4), (4, 1), (2, 1))},
    dtypes=MOVING,
    infer=unflattened,
    reference=lambda x, dim, sizes: x.reshape(
        (*x.shape[: dim % x.ndim], *sizes, *x.shape[dim % x.ndim + 1 :])
    ),
    torch={
        "function": "torch.unflatten({x}, {dim}, {sizes})",
        "method": Form("{x}.unflatten({dim}, {sizes})", source=torch_method("unflatten")),
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.Unflatten({dim}, {sizes})",),
            source="torch.nn.Unflatten(dim, unflattened_size): unflattens a dimension",
        ),
    },
    mindspore={
        "module": Form("{self}({x})", setup=("{self} = nn.Unflatten({dim}, {sizes})",), dtypes=MS),
    },
    tolerance=EXACT,
    tags={"view", "reshape"},
    views="x",
)


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


# ----------------------------------------------------------------------------- basic indexing
def span(call: OpCall) -> range:
    at = axis(call.integer("dim"), call["x"].rank)
    start, stop = call.attr("start"), call.attr("stop")
    found = slice(
        start if isinstance(start, int) else None,
        stop if isinstance(stop, int) else None,
        call.integer("step"),
    )
    return range(*found.indices(static(call["x"])[at]))


def sliced(call: OpCall) -> Dense:
    shape = list(static(call["x"]))
    shape[axis(call.integer("dim"), len(shape))] = len(span(call))
    return resized(call["x"], shape)


def along(x: Array, dim: int, index: object) -> Array:
    """The view `x[..., index, ...]` with the index at an axis."""
    place: list[Any] = [slice(None)] * x.ndim
    place[dim % x.ndim] = index
    found: Array = x[tuple(place)]
    return found


INDEXING = "tensor indexing follows NumPy: start:stop:step"

op(
    "slice",
    "x",
    attrs={
        "dim": (1, 0, -1),
        "start": (1, 0, None, -2),
        "stop": (3, None, 2, -1),
        "step": (1, 2),
    },
    dtypes=MOVING,
    infer=sliced,
    requires=lambda call: (
        (call["x"].rank > 0, "a scalar has no axis to slice"),
        (call.integer("step") > 0, "the step is not positive"),
        (call["x"].rank == 0 or len(span(call)) > 0, "the slice is empty"),
    ),
    reference=lambda x, dim, start, stop, step: along(x, dim, slice(start, stop, step)),
    torch={
        "operator": Form("{x}[:, {start}:{stop}:{step}]", when=axis_is(1)),
        "operator_dim0": Form("{x}[{start}:{stop}:{step}]", when=axis_is(0), source=INDEXING),
        "operator_last": Form("{x}[..., {start}:{stop}:{step}]", when=axis_is(-1), source=INDEXING),
        "operator_dim2": Form("{x}[:, :, {start}:{stop}:{step}]", when=axis_is(2), source=INDEXING),
        "operator_back2": Form(
            "{x}[..., {start}:{stop}:{step}, :]", when=axis_is(-2), source=INDEXING
        ),
        "default": Form(
            "{x}[:, {start}:{stop}]",
            when=lambda call: axis_is(1)(call) and call.attr("step") == 1,
            source=INDEXING,
        ),
        "builtin": Form("{x}[:, slice({start}, {stop}, {step})]", when=axis_is(1), source=INDEXING),
        "builtin_dim0": Form(
            "{x}[slice({start}, {stop}, {step})]", when=axis_is(0), source=INDEXING
        ),
        "method": Form(
            "{x}.__getitem__((slice(None), slice({start}, {stop}, {step})))",
            when=axis_is(1),
            source=INDEXING,
        ),
    },
    mindspore={
        "operator": Form("{x}[:, {start}:{stop}:{step}]", when=axis_is(1), dtypes=MS),
        "operator_dim0": Form(
            "{x}[{start}:{stop}:{step}]", when=axis_is(0), dtypes=MS, source=INDEXING
        ),
        "operator_last": Form(
            "{x}[..., {start}:{stop}:{step}]", when=axis_is(-1), dtypes=MS, source=INDEXING
        ),
        "operator_dim2": Form(
            "{x}[:, :, {start}:{stop}:{step}]", when=axis_is(2), dtypes=MS, source=INDEXING
        ),
        "operator_back2": Form(
            "{x}[..., {start}:{stop}:{step}, :]", when=axis_is(-2), dtypes=MS, source=INDEXING
        ),
        "default": Form(
            "{x}[:, {start}:{stop}]",
            when=lambda call: axis_is(1)(call) and call.attr("step") == 1,
            dtypes=MS,
            source=INDEXING,
        ),
        "builtin": Form(
            "{x}[:, slice({start}, {stop}, {step})]", when=axis_is(1), dtypes=MS, source=INDEXING
        ),
        "builtin_dim0": Form(
            "{x}[slice({start}, {stop}, {step})]", when=axis_is(0), dtypes=MS, source=INDEXING
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (4, 4), (5,), (2, 4, 3, 3)),
    tags={"view", "indexing"},
    views="x",
)


def selected(call: OpCall) -> Dense:
    x, shape = call["x"], static(call["x"])
    at = axis(call.integer("dim"), x.rank)
    return resized(x, (*shape[:at], *shape[at + 1 :]))


def index_in_range(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to select from"
    extent = static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    index = call.integer("index")
    yield -extent <= index < extent, f"the index {index} is outside an extent of {extent}"


op(
    "select",
    "x",
    attrs={"dim": (1, 0, -1), "index": (1, 0, -1)},
    dtypes=MOVING,
    infer=selected,
    requires=index_in_range,
    reference=lambda x, dim, index: along(x, dim, index)[...],
    torch={
        "function": "torch.select({x}, {dim}, {index})",
        "method": Form("{x}.select({dim}, {index})", source=torch_method("select")),
        "operator": Form("{x}[:, {index}]", when=axis_is(1), source=INDEXING),
        "operator_dim0": Form("{x}[{index}]", when=axis_is(0), source=INDEXING),
        "operator_last": Form("{x}[..., {index}]", when=axis_is(-1), source=INDEXING),
        "keyword": Form("torch.select({x}, dim={dim}, index={index})", source="torch.select"),
    },
    mindspore={
        "operator": Form("{x}[:, {index}]", when=axis_is(1), dtypes=MS),
        "operator_dim0": Form("{x}[{index}]", when=axis_is(0), dtypes=MS, source=INDEXING),
        "operator_last": Form("{x}[..., {index}]", when=axis_is(-1), dtypes=MS, source=INDEXING),
        "operator_dim2": Form("{x}[:, :, {index}]", when=axis_is(2), dtypes=MS, source=INDEXING),
        "composed": Form(
            "ops.unbind({x}, {dim})[{index}]",
            dtypes=MS,
            source="mindspore.ops.unbind: all slices along a given dimension",
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 2), (2,), (2, 3, 2, 2)),
    tags={"view", "indexing"},
    views="x",
)


def narrowed(call: OpCall) -> Dense:
    shape = list(static(call["x"]))
    shape[axis(call.integer("dim"), len(shape))] = call.integer("length")
    return resized(call["x"], shape)


def narrow_fits(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to narrow"
    extent = static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    start, length = call.integer("start"), call.integer("length")
    yield start >= 0 and length > 0, "start is negative or the length is not positive"
    yield start + length <= extent, f"{start} + {length} is beyond the extent {extent}"


op(
    "narrow",
    "x",
    attrs={"dim": (1, 0, -1), "start": (0, 1), "length": (2, 1)},
    dtypes=MOVING,
    infer=narrowed,
    requires=narrow_fits,
    reference=lambda x, dim, start, length: along(x, dim, slice(start, start + length)),
    torch={
        "function": "torch.narrow({x}, {dim}, {start}, {length})",
        "method": Form("{x}.narrow({dim}, {start}, {length})", source=torch_method("narrow")),
        "tensor": Form(
            "torch.narrow({x}, {dim}, torch.tensor({start}), {length})",
            source="torch.narrow: start (int or Tensor), a 0-dim integral tensor",
        ),
        "keyword": Form(
            "torch.narrow({x}, dim={dim}, start={start}, length={length})", source="torch.narrow"
        ),
        "composed": Form(
            "torch.index_select({x}, {dim}, torch.arange({start}, {start} + {length}))",
            source="torch.narrow: elements start to start + length of the dimension",
        ),
    },
    mindspore={
        "function": Form("ops.narrow({x}, {dim}, {start}, {length})", dtypes=MS),
        "method": Form(
            "{x}.narrow({dim}, {start}, {length})",
            dtypes=MS,
            source="mindspore.Tensor.narrow(dim, start, length): a specified length from start",
        ),
        "tensor": Form(
            "{x}.narrow({dim}, Tensor({start}), {length})",
            dtypes=MS,
            source="mindspore.Tensor.narrow: start (Union[int, Tensor])",
        ),
        "keyword": Form(
            "ops.narrow({x}, axis={dim}, start={start}, length={length})",
            dtypes=MS,
            source="mindspore.ops.narrow(input, axis, start, length)",
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (3,), (2, 2)),
    tags={"view", "indexing"},
    views="x",
)


# --------------------------------------------------------------------- one tensor into several
def pieces(x: Dense, dim: int, sizes: tuple[int, ...]) -> Tuple:
    at, shape = axis(dim, x.rank), static(x)
    return Tuple(tuple(resized(x, (*shape[:at], size, *shape[at + 1 :])) for size in sizes))


def cut(x: Array, dim: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=dim))


def split_fits(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to split"
    extent = static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    sizes = call.integers("sizes")
    yield all(size > 0 for size in sizes), f"the sizes {sizes} are not all positive"
    yield sum(sizes) == extent, f"the sizes {sizes} do not sum to the extent {extent}"


def equal_pieces(call: OpCall) -> bool:
    return len(set(call.integers("sizes"))) == 1


op(
    "split",
    "x",
    attrs={"sizes": ((2, 2), (1, 2), (1, 1), (1, 3), (1, 1, 1)), "dim": (2, 1, 0, -1)},
    dtypes=MOVING,
    infer=lambda call: pieces(call["x"], call.integer("dim"), call.integers("sizes")),
    requires=split_fits,
    reference=lambda x, sizes, dim: cut(x, dim, sizes),
    torch={
        "function": "torch.split({x}, {sizes}, {dim})",
        "method": Form("{x}.split({sizes}, {dim})", source=torch_method("split")),
        "keyword": Form(
            "torch.split({x}, split_size_or_sections={sizes}, dim={dim})", source="torch.split"
        ),
        "default": Form(
            "torch.split({x}, {sizes})",
            when={"dim": 0},
            source=default("torch.split", "dim=0"),
        ),
        "function_with_sizes": Form(
            "torch.split_with_sizes({x}, {sizes}, {dim})",
            source="torch.split: with a list of sections, split_with_sizes",
        ),
        "scalar": Form(
            "torch.split({x}, {sizes}[0], {dim})",
            when=equal_pieces,
            source="torch.split: split_size_or_sections (int) size of a single chunk",
        ),
        "composed": Form(
            "torch.tensor_split({x}, len({sizes}), {dim})",
            when=equal_pieces,
            source="torch.tensor_split: n sections of equal size when divisible",
        ),
    },
    mindspore={
        "function": Form("ops.split({x}, {sizes}, {dim})", dtypes=MS),
        "keyword": Form(
            "ops.split({x}, split_size_or_sections={sizes}, axis={dim})",
            dtypes=MS,
            source="mindspore.ops.split(tensor, split_size_or_sections, axis=0)",
        ),
        "default": Form(
            "ops.split({x}, {sizes})",
            when={"dim": 0},
            dtypes=MS,
            source=default("mindspore.ops.split", "axis=0"),
        ),
        "scalar": Form(
            "ops.split({x}, {sizes}[0], {dim})",
            when=equal_pieces,
            dtypes=MS,
            source="mindspore.ops.split: an int splits into equally sized chunks",
        ),
        "primitive": Form(
            "ops.Split({dim}, len({sizes}))({x})",
            when=equal_pieces,
            dtypes=MS,
            source="mindspore.ops.Split(axis, output_num): output_num pieces of equal size",
        ),
        "composed": Form(
            "ops.tensor_split({x}, len({sizes}), {dim})",
            when=equal_pieces,
            dtypes=MS,
            source="mindspore.ops.tensor_split: n sections of equal size when divisible",
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (3, 4), (2,), (2, 2, 3)),
    tags={"view", "several"},
    views="x",
)


def chunk_sizes(extent: int, chunks: int) -> tuple[int, ...]:
    """Sizes of PyTorch's chunks: all of ceil(extent / chunks) but the last."""
    size = max(-(-extent // chunks), 1)
    return tuple(min(size, extent - start) for start in range(0, extent, size))


def chunk_types(call: OpCall) -> Tuple:
    x, dim = call["x"], call.integer("dim")
    extent = static(x)[axis(dim, x.rank)]
    return pieces(x, dim, chunk_sizes(extent, call.integer("chunks")))


op(
    "chunk",
    "x",
    attrs={"chunks": (2, 3, 1), "dim": (2, 1, 0, -1)},
    dtypes=MOVING,
    infer=chunk_types,
    requires=lambda call: (
        (call["x"].rank > 0, "a scalar has no axis to cut"),
        (call.integer("chunks") > 0, "the number of chunks is not positive"),
        (0 not in static(call["x"]), "an empty tensor is cut into no defined pieces"),
    ),
    reference=lambda x, chunks, dim: cut(x, dim, chunk_sizes(x.shape[dim], chunks)),
    torch={
        "function": "torch.chunk({x}, {chunks}, {dim})",
        "method": Form("{x}.chunk({chunks}, {dim})", source=torch_method("chunk")),
        "keyword": Form("torch.chunk({x}, chunks={chunks}, dim={dim})", source="torch.chunk"),
        "default": Form(
            "torch.chunk({x}, {chunks})", when={"dim": 0}, source=default("torch.chunk", "dim=0")
        ),
    },
    mindspore={
        "function": Form("ops.chunk({x}, {chunks}, {dim})", dtypes=MS),
        "keyword": Form(
            "ops.chunk({x}, chunks={chunks}, axis={dim})",
            dtypes=MS,
            source="mindspore.ops.chunk(input, chunks, axis=0)",
        ),
        "default": Form(
            "ops.chunk({x}, {chunks})",
            when={"dim": 0},
            dtypes=MS,
            source=default("mindspore.ops.chunk", "axis=0"),
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (6,), (4, 2)),
    tags={"view", "several"},
    views="x",
)

op(
    "unbind",
    "x",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=lambda call: Tuple(
        (selected(call),) * static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    ),
    requires=lambda call: (
        (call["x"].rank > 0, "a scalar has no axis to take apart"),
        (0 not in static(call["x"]), "an empty tensor has no slices"),
    ),
    reference=lambda x, dim: tuple(along(x, dim, at)[...] for at in range(x.shape[dim])),
    torch={
        "function": "torch.unbind({x}, {dim})",
        "method": Form("{x}.unbind({dim})", source=torch_method("unbind")),
        "default": Form(
            "torch.unbind({x})", when={"dim": 0}, source=default("torch.unbind", "dim=0")
        ),
        "builtin": Form(
            "tuple({x})", when={"dim": 0}, source="iterating a tensor yields its slices of axis 0"
        ),
    },
    mindspore={
        "function": Form("ops.unbind({x}, {dim})", dtypes=MS),
        "function_unstack": Form(
            "ops.unstack({x}, {dim})",
            dtypes=MS,
            source="mindspore.ops.unstack: unstack along the specified axis",
        ),
        "method": Form("{x}.unbind({dim})", dtypes=MS, source=mindspore_method("unbind")),
        "primitive": Form(
            "ops.Unstack(axis={dim})({x})",
            dtypes=MS,
            source="mindspore.ops.Unstack(axis=0, num=None): refer to ops.unstack",
        ),
        "default": Form(
            "ops.unbind({x})",
            when={"dim": 0},
            dtypes=MS,
            source=default("mindspore.ops.unbind", "dim=0"),
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (3,), (1, 2)),
    tags={"view", "several"},
    views="x",
)


# -------------------------------------------------------------------------- copies and aliases
op(
    "clone",
    "x",
    dtypes=MOVING,
    infer=same_as_first,
    reference=lambda x: x.copy(),
    torch={
        "function": "torch.clone({x})",
        "method": Form("{x}.clone()", source=torch_method("clone")),
        "keyword": Form(
            "torch.clone({x}, memory_format=torch.preserve_format)",
            source=default("torch.clone", "memory_format=torch.preserve_format"),
        ),
    },
    mindspore={
        "method": Form("{x}.copy()", dtypes=MS),
        "function": Form(
            "ops.deepcopy({x})",
            dtypes=MS,
            source="mindspore.ops.deepcopy: returns a deep copy of the input tensor",
        ),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (), (0, 3)),
    tags={"shape-preserving", "copy"},
)

op(
    "contiguous",
    "x",
    dtypes=MOVING,
    infer=same_as_first,
    reference=lambda x: np.ascontiguousarray(x).reshape(x.shape),
    torch={"method": "{x}.contiguous()"},
    mindspore={"method": Form("{x}.contiguous()", dtypes=MS)},
    tolerance=EXACT,
    shapes=((2, 3, 4), (), (0, 3)),
    tags={"shape-preserving", "view"},
    views="x",
)

op(
    "detach",
    "x",
    dtypes=MOVING,
    infer=same_as_first,
    reference=lambda x: x[...],
    torch={"method": "{x}.detach()"},
    mindspore={
        "function": Form("ops.stop_gradient({x})", dtypes=MS),
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), ()),
    tags={"shape-preserving", "view"},
    views="x",
    differentiable=False,
)

op(
    "identity",
    "x",
    dtypes=MOVING,
    infer=lambda call: like(call["x"]),
    reference=lambda x: x[...],
    torch={"module": Form("{self}({x})", setup=("{self} = nn.Identity()",))},
    mindspore={
        "module": Form("{self}({x})", setup=("{self} = nn.Identity()",), dtypes=MS),
        "mint": Form(
            "{self}({x})",
            setup=("{self} = mint.nn.Identity()",),
            dtypes=MS,
            source="mindspore.mint.nn.Identity: a placeholder that returns the same as input",
        ),
    },
    tolerance=EXACT,
    tags={"shape-preserving", "view"},
    views="x",
)
