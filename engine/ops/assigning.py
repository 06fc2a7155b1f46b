"""Statements that assign to a part of a tensor, and their out-of-place twins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import Dense
from engine.ops.indexing import EXACT, MS, mask_fits, mask_like, replaced
from engine.ops.numeric import Array
from engine.ops.operands import beside, index
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MOVING,
    NUMBERS,
    Requirement,
    axis,
    axis_is,
    default,
    limited,
    mindspore_method,
    resized,
    same_as_first,
    shape_of,
    static,
    torch_method,
)
from engine.ops.slicing import span
from engine.ops.spec import Form, OpCall, op


# ------------------------------------------------------------------------ statements that assign
def assigned_shape(call: OpCall) -> tuple[int, ...]:
    return replaced(static(call["x"]), call.attr("dim"), len(span(call)))


def assign_fits(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to slice"
    yield call.integer("step") > 0, "the step is not positive"
    yield len(span(call)) > 0, "the slice is empty"
    wanted = assigned_shape(call)
    yield static(call["v"]) == wanted, f"the assigned value is not of shape {wanted}"


def assign_value(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    call = OpCall({"x": x}, attrs)
    if not x.rank:
        raise ConstraintViolated("a scalar has no axis to slice")
    return {"v": beside("v", resized(x, assigned_shape(call)))}


def assign(x: Array, place: Any, value: object) -> Array:
    result = x.copy()
    result[place] = value
    return result


def sliced_place(x: Array, dim: int, start: int | None, stop: int | None, step: int) -> object:
    place: list[object] = [slice(None)] * x.ndim
    place[dim % x.ndim] = slice(start, stop, step)
    return tuple(place)


ASSIGNS = "assignment to an index writes into the tensor's memory"
SLICES: Mapping[str, tuple[Attr, ...]] = {
    "dim": (1, 0, -1),
    "start": (1, None, 0),
    "stop": (3, None, -1),
    "step": (1, 2),
}


def statement(
    text: str, when: Callable[[OpCall], bool] | None = None, source: str = ASSIGNS
) -> Form:
    """An in-place statement; the value that follows is the tensor it wrote."""
    return Form("{x}", before=(text,), when=when, source=source)


def stepless(place: int) -> Callable[[OpCall], bool]:
    return lambda call: axis_is(place)(call) and call.attr("step") == 1


SLICE_STATEMENTS: Mapping[str, Form] = {
    "inplace": statement("{x}[:, {start}:{stop}:{step}] = {v}", axis_is(1)),
    "inplace_dim0": statement("{x}[{start}:{stop}:{step}] = {v}", axis_is(0)),
    "inplace_last": statement("{x}[..., {start}:{stop}:{step}] = {v}", axis_is(-1)),
    "default": statement("{x}[:, {start}:{stop}] = {v}", stepless(1)),
    "builtin": statement("{x}[:, slice({start}, {stop}, {step})] = {v}", axis_is(1)),
}

op(
    "setitem",
    "x v",
    attrs=SLICES,
    dtypes=MOVING,
    infer=same_as_first,
    requires=assign_fits,
    reference=lambda x, v, dim, start, stop, step: assign(
        x, sliced_place(x, dim, start, stop, step), v
    ),
    torch={
        **SLICE_STATEMENTS,
        "method": statement("{x}[:, {start}:{stop}:{step}].copy_({v})", axis_is(1)),
        "method_setitem": statement(
            "{x}.__setitem__((slice(None), slice({start}, {stop}, {step})), {v})", axis_is(1)
        ),
    },
    mindspore=limited(MINDSPORE_MOVING, SLICE_STATEMENTS),
    tolerance=EXACT,
    companions=assign_value,
    shapes=((2, 3, 4), (4, 4), (5,)),
    tags={"inplace", "indexing", "shape-preserving"},
    writes="x",
)


def scalar_fits(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to index"
    extent = static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    at = call.integer("index")
    yield -extent <= at < extent, f"the index {at} is outside an extent of {extent}"
    value, dtype = call.attr("value"), call["x"].dtype
    yield isinstance(value, int) or dtype.startswith(("float", "bfloat")), "a fraction for integers"


def selected_place(x: Array, dim: int, at: int) -> object:
    place: list[object] = [slice(None)] * x.ndim
    place[dim % x.ndim] = at
    return tuple(place)


SCALAR_STATEMENTS: Mapping[str, Form] = {
    "inplace": statement("{x}[:, {index}] = {value}", axis_is(1)),
    "inplace_dim0": statement("{x}[{index}] = {value}", axis_is(0)),
    "inplace_last": statement("{x}[..., {index}] = {value}", axis_is(-1)),
}

op(
    "setitem_scalar",
    "x",
    attrs={"dim": (1, 0, -1), "index": (0, 1, -1), "value": (2, 0, 0.5)},
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=scalar_fits,
    reference=lambda x, dim, index, value: assign(x, selected_place(x, dim, index), value),
    torch={
        **SCALAR_STATEMENTS,
        "tensor": statement("{x}[:, {index}] = torch.tensor({value}, dtype={x}.dtype)", axis_is(1)),
        "method": statement("{x}.select({dim}, {index}).fill_({value})"),
    },
    mindspore=limited(
        MS,
        {
            **SCALAR_STATEMENTS,
            "tensor": statement("{x}[:, {index}] = Tensor({value}, {x}.dtype)", axis_is(1)),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (4, 4), (5,)),
    tags={"inplace", "indexing", "shape-preserving"},
    writes="x",
)

op(
    "setitem_mask",
    "x mask:bool",
    attrs={"value": (2, 0)},
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=mask_fits,
    reference=lambda x, mask, value: assign(x, mask, value),
    torch={
        "inplace": statement("{x}[{mask}] = {value}"),
        "method": statement(
            "{x}.masked_fill_({mask}, {value})",
            source="torch.Tensor.masked_fill_: fills where mask is True",
        ),
    },
    mindspore=limited(MS, {"inplace": statement("{x}[{mask}] = {value}")}),
    tolerance=EXACT,
    companions=mask_like,
    shapes=((2, 3, 4), (5,)),
    tags={"inplace", "indexing", "shape-preserving"},
    writes="x",
)

op(
    "setitem_index",
    "x index:integer v",
    dtypes=MOVING,
    infer=same_as_first,
    requires=lambda call: (
        (call["x"].rank > 0 and 0 not in static(call["x"]), "the input has nothing to index"),
        (call["index"].rank == 1, "the index is not a vector"),
        (call["index"].dtype == "int64", "the index is not int64"),
        (
            static(call["v"]) == (*static(call["index"]), *static(call["x"])[1:]),
            "the assigned value does not fit",
        ),
    ),
    reference=lambda x, index, v: assign(x, index, v),
    torch={
        "inplace": statement("{x}[{index}] = {v}"),
        "method": statement(
            "{x}.index_put_(({index},), {v})",
            source="torch.Tensor.index_put_: equivalent to tensor[indices] = values",
        ),
        "method_copy": statement(
            "{x}.index_copy_(0, {index}, {v})",
            source="torch.Tensor.index_copy_: copies the elements of tensor by index",
        ),
    },
    mindspore=limited(MS, {"inplace": statement("{x}[{index}] = {v}")}),
    tolerance=EXACT,
    companions=lambda x, attrs: {
        "index": index("index", 1, below=max(static(x)[0], 1) if x.rank else 1),
        "v": beside("v", resized(x, (1, *static(x)[1:]))),
    },
    shapes=((3, 4), (4,), (2, 3, 4)),
    tags={"inplace", "indexing", "shape-preserving"},
    writes="x",
)


# ---------------------------------------------------------------------- values into a part of x
op(
    "slice_scatter",
    "x v",
    attrs=SLICES,
    dtypes=MOVING,
    infer=same_as_first,
    requires=assign_fits,
    reference=lambda x, v, dim, start, stop, step: assign(
        x, sliced_place(x, dim, start, stop, step), v
    ),
    torch={
        "function": "torch.slice_scatter({x}, {v}, {dim}, {start}, {stop}, {step})",
        "method": Form(
            "{x}.slice_scatter({v}, {dim}, {start}, {stop}, {step})",
            source=torch_method("slice_scatter"),
        ),
        "keyword": Form(
            "torch.slice_scatter({x}, {v}, dim={dim}, start={start}, end={stop}, step={step})",
            source="torch.slice_scatter",
        ),
        "default": Form(
            "torch.slice_scatter({x}, {v}, {dim}, {start}, {stop})",
            when={"step": 1},
            source=default("torch.slice_scatter", "step=1"),
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.slice_scatter({x}, {v}, {dim}, {start}, {stop}, {step})",
            "method": Form(
                "{x}.slice_scatter({v}, {dim}, {start}, {stop}, {step})",
                source=mindspore_method("slice_scatter"),
            ),
            "keyword": Form(
                "ops.slice_scatter({x}, {v}, axis={dim}, start={start}, end={stop}, step={step})",
                source="mindspore.ops.slice_scatter(input, src, axis, start, end, step)",
            ),
            "default": Form(
                "ops.slice_scatter({x}, {v}, {dim}, {start}, {stop})",
                when={"step": 1},
                source=default("mindspore.ops.slice_scatter", "step=1"),
            ),
        },
    ),
    tolerance=EXACT,
    companions=assign_value,
    shapes=((2, 3, 4), (4, 4), (5,)),
    tags={"indexing", "shape-preserving"},
)


def select_fits(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to index"
    at = axis(call.integer("dim"), call["x"].rank)
    shape = static(call["x"])
    yield -shape[at] <= call.integer("index") < shape[at], "the index is outside the extent"
    wanted = (*shape[:at], *shape[at + 1 :])
    yield static(call["v"]) == wanted, f"the value is not of shape {wanted}"


def select_value(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    dim, shape = attrs["dim"], static(x)
    assert isinstance(dim, int)
    at = axis(dim, x.rank)
    return {"v": beside("v", resized(x, (*shape[:at], *shape[at + 1 :])))}


op(
    "select_scatter",
    "x v",
    attrs={"dim": (1, 0, -1), "index": (1, 0, -1)},
    dtypes=MOVING,
    infer=same_as_first,
    requires=select_fits,
    reference=lambda x, v, dim, index: assign(x, selected_place(x, dim, index), v),
    torch={
        "function": "torch.select_scatter({x}, {v}, {dim}, {index})",
        "method": Form(
            "{x}.select_scatter({v}, {dim}, {index})", source=torch_method("select_scatter")
        ),
        "keyword": Form(
            "torch.select_scatter({x}, {v}, dim={dim}, index={index})",
            source="torch.select_scatter",
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.select_scatter({x}, {v}, {dim}, {index})",
            "method": Form(
                "{x}.select_scatter({v}, {dim}, {index})",
                source=mindspore_method("select_scatter"),
            ),
            "keyword": Form(
                "ops.select_scatter({x}, {v}, axis={dim}, index={index})",
                source="mindspore.ops.select_scatter(input, src, axis, index)",
            ),
        },
    ),
    tolerance=EXACT,
    companions=select_value,
    shapes=((2, 3, 4), (3, 2)),
    tags={"indexing", "shape-preserving"},
)


def diagonal_extent(shape: tuple[int, ...], offset: int) -> int:
    rows, columns = shape[0], shape[1]
    return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)


def diagonal_scatter_fits(call: OpCall) -> Requirement:
    yield call["x"].rank == 2, "the input is not a matrix"
    extent = diagonal_extent(static(call["x"]), call.integer("offset"))
    yield extent > 0, "the diagonal is empty"
    yield static(call["v"]) == (extent,), f"the value has not {extent} elements"


def diagonal_scatter(x: Array, v: Array, *, offset: int) -> Array:
    result = x.copy()
    rows = np.arange(v.size) + max(-offset, 0)
    result[rows, np.arange(v.size) + max(offset, 0)] = v
    return result


def diagonal_value(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    offset = attrs["offset"]
    assert isinstance(offset, int)
    return {"v": beside("v", resized(x, (diagonal_extent(shape_of(x, 2), offset),)))}


op(
    "diagonal_scatter",
    "x v",
    attrs={"offset": (0, 1, -1)},
    dtypes=MOVING,
    infer=same_as_first,
    requires=diagonal_scatter_fits,
    reference=lambda x, v, offset: diagonal_scatter(x, v, offset=offset),
    torch={
        "function": "torch.diagonal_scatter({x}, {v}, {offset})",
        "method": Form(
            "{x}.diagonal_scatter({v}, {offset})", source=torch_method("diagonal_scatter")
        ),
        "default": Form(
            "torch.diagonal_scatter({x}, {v})",
            when={"offset": 0},
            source=default("torch.diagonal_scatter", "offset=0"),
        ),
        "default_method": Form(
            "{x}.diagonal_scatter({v})",
            when={"offset": 0},
            source=default("torch.Tensor.diagonal_scatter", "offset=0"),
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.diagonal_scatter({x}, {v}, {offset})",
            "method": Form(
                "{x}.diagonal_scatter({v}, {offset})",
                source=mindspore_method("diagonal_scatter"),
            ),
            "keyword": Form(
                "ops.diagonal_scatter({x}, {v}, offset={offset}, dim1=0, dim2=1)",
                source=default("mindspore.ops.diagonal_scatter", "dim1=0, dim2=1"),
            ),
            "default": Form(
                "ops.diagonal_scatter({x}, {v})",
                when={"offset": 0},
                source=default("mindspore.ops.diagonal_scatter", "offset=0"),
            ),
            "default_method": Form(
                "{x}.diagonal_scatter({v})",
                when={"offset": 0},
                source=default("mindspore.Tensor.diagonal_scatter", "offset=0"),
            ),
        },
    ),
    tolerance=EXACT,
    companions=diagonal_value,
    shapes=((3, 3), (3, 4), (2, 1)),
    tags={"indexing", "shape-preserving"},
)
