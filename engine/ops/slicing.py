"""Basic indexing, and one tensor taken apart into several views."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.ir.types import Dense, Tuple
from engine.ops.numeric import Array
from engine.ops.rules import (
    MOVING,
    Requirement,
    axis,
    axis_is,
    default,
    mindspore_method,
    resized,
    static,
    torch_method,
)
from engine.ops.shape import EXACT, MS
from engine.ops.spec import Form, OpCall, op


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
        "builtin": Form(
            "next(iter({x}))",
            when={"dim": 0, "index": 0},
            source="torch.Tensor.__iter__: goes over the slices of the first dimension",
        ),
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
        "builtin": Form(
            "next(iter({x}))",
            when={"dim": 0, "index": 0},
            dtypes=MS,
            source="mindspore.Tensor.__iter__: goes over the slices of the first dimension",
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
