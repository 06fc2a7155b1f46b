"""Operators that change the shape or the view of a tensor and move no values."""

from __future__ import annotations

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MOVING,
    Requirement,
    axis,
    default,
    like,
    mindspore_method,
    mindspore_primitive,
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


def is_whole(call: OpCall) -> bool:
    """No extent is left open."""
    return -1 not in call.integers("shape")


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
        "tensor": Form(
            "{x}.reshape_as({self})",
            setup=("{self} = torch.empty({shape})",),
            when=is_whole,
            source="torch.Tensor.reshape_as: equivalent to self.reshape(other.sizes())",
        ),
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
        "tensor": Form(
            "{x}.reshape_as({self})",
            setup=("{self} = ops.zeros({shape})",),
            when=is_whole,
            dtypes=MS,
            source="mindspore.Tensor.reshape_as: change the shape to the shape of other",
        ),
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
        "tensor": Form(
            "{x}.view_as({self})",
            setup=("{self} = torch.empty({shape})",),
            when=is_whole,
            source="torch.Tensor.view_as: equivalent to self.view(other.size())",
        ),
    },
    mindspore={
        "method": Form("{x}.view({shape})", dtypes=MS),
        "tensor": Form(
            "{x}.view_as({self})",
            setup=("{self} = ops.zeros({shape})",),
            when=is_whole,
            dtypes=MS,
            source="mindspore.Tensor.view_as: view self as the same shape as other",
        ),
    },
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
        "method_ravel": Form(
            "{x}.ravel()",
            when={"start_dim": 0, "end_dim": -1},
            dtypes=MS,
            source="mindspore.Tensor.ravel: return a contiguous flattened tensor",
        ),
        "mint_ravel": Form(
            "mint.ravel({x})",
            when={"start_dim": 0, "end_dim": -1},
            dtypes=MS,
            source="mindspore.mint.ravel: expand to a 1-D tensor",
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
