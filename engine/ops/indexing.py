"""Reading and writing by index: gathers, scatters, masks, statements that assign."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import Dense, Dynamic
from engine.ops.numeric import Array
from engine.ops.operands import beside, index, ordinary
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MINDSPORE_NUMBERS,
    MOVING,
    NUMBERS,
    Requirement,
    axis,
    axis_is,
    default,
    limited,
    mindspore_method,
    product,
    resized,
    same_as_first,
    shape_of,
    static,
    torch_method,
)
from engine.ops.spec import Form, Limit, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
MS = MINDSPORE_NUMBERS
Companions = Callable[[Dense, Mapping[str, Attr]], Mapping[str, "Input | tuple[Input, ...]"]]


def extent_of(x: Dense, attrs: Mapping[str, Attr]) -> int:
    """The extent of the axis that the attribute `dim` names."""
    dim = attrs["dim"]
    assert isinstance(dim, int)
    extent = static(x)[axis(dim, x.rank)] if x.rank else 0
    if not extent:
        raise ConstraintViolated("the axis has no elements to index")
    return extent


def replaced(shape: tuple[int, ...], dim: Attr, extent: int) -> tuple[int, ...]:
    """The shape with another extent at an axis."""
    assert isinstance(dim, int)
    at = axis(dim, len(shape))
    return (*shape[:at], extent, *shape[at + 1 :])


# ------------------------------------------------------------------------------------ embedding
def embedding_type(call: OpCall) -> Dense:
    return resized(call["w"], (*static(call["x"]), shape_of(call["w"], 2)[1]))


op(
    "embedding",
    "w x:integer",
    dtypes=("float32", "float16", "float64", "bfloat16"),
    infer=embedding_type,
    requires=lambda call: (
        (call["w"].rank == 2, "the table is not a matrix"),
        (call["x"].dtype in ("int64", "int32"), "the indices are neither int64 nor int32"),
        (0 not in static(call["w"]), "the table is empty"),
    ),
    reference=lambda w, x: w[x],
    torch={
        "function": "F.embedding({x}, {w})",
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.Embedding.from_pretrained({w})",),
            source="torch.nn.Embedding.from_pretrained: an instance from a given tensor",
        ),
        "module_weight": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.Embedding({w}.shape[0], {w}.shape[1])",
                "{self}.weight = nn.Parameter({w})",
            ),
            source="torch.nn.Embedding: weight of shape (num_embeddings, embedding_dim)",
        ),
        "operator": Form("{w}[{x}]", source="torch.nn.functional.embedding: a lookup by index"),
        "keyword": Form("F.embedding(input={x}, weight={w})", source="F.embedding"),
        "composed": Form(
            "torch.index_select({w}, 0, {x}.flatten()).reshape(*{x}.shape, {w}.shape[1])",
            source="torch.index_select: rows chosen by a vector of indices",
        ),
    },
    mindspore=limited(
        ("float32", "float16", "float64"),
        {
            "function": "ops.gather({w}, {x}, 0)",
            "module": Form(
                "{self}({x})",
                setup=(
                    (
                        "{self} = nn.Embedding({w}.shape[0], {w}.shape[1], embedding_table={w},"
                        " dtype={w}.dtype)"
                    ),
                ),
                source="mindspore.nn.Embedding: embeddings of the given ids, table a Tensor",
            ),
            "primitive": Form(
                "ops.Gather()({w}, {x}, 0)", source="mindspore.ops.Gather: refer to ops.gather"
            ),
            "operator": Form("{w}[{x}]", source="mindspore tensor indexing by a tensor"),
            "keyword": Form(
                "ops.gather(input_params={w}, input_indices={x}, axis=0)", source="ops.gather"
            ),
            "composed": Form(
                "ops.index_select({w}, 0, {x}.flatten()).reshape({x}.shape + ({w}.shape[1],))",
                source="mindspore.ops.index_select: rows chosen by a vector of indices",
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda w, attrs: {"x": index("x", 2, 3, below=max(shape_of(w, 2)[0], 1))},
    shapes=((5, 4), (1, 3)),
    tags={"indexing", "embedding"},
)


# ------------------------------------------------------------------------------ gather, select
def gather_fits(call: OpCall) -> Requirement:
    yield call["x"].rank == call["index"].rank > 0, "input and index have different ranks"
    yield call["index"].dtype == "int64", "the index is not int64"
    x, where = static(call["x"]), static(call["index"])
    at = axis(call.integer("dim"), call["x"].rank)
    yield (
        all(i <= e for place, (i, e) in enumerate(zip(where, x, strict=False)) if place != at),
        f"the index {where} is larger than the input {x} beside axis {at}",
    )


def gather(x: Array, where: Array, *, dim: int) -> Array:
    inner = tuple(
        slice(None) if at == dim % x.ndim else slice(extent)
        for at, extent in enumerate(where.shape)
    )
    found: Array = np.take_along_axis(x[inner], where, dim)
    return found


def gather_index(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    extent = extent_of(x, attrs)
    return {"index": index("index", *replaced(static(x), attrs["dim"], 2), below=extent)}


op(
    "gather",
    "x index:integer",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=lambda call: resized(call["x"], static(call["index"])),
    requires=gather_fits,
    reference=lambda x, index, dim: gather(x, index, dim=dim),
    torch={
        "function": "torch.gather({x}, {dim}, {index})",
        "method": Form("{x}.gather({dim}, {index})", source=torch_method("gather")),
        "keyword": Form("torch.gather(input={x}, dim={dim}, index={index})", source="torch.gather"),
        "function_take": Form(
            "torch.take_along_dim({x}, {index}, {dim})",
            when=lambda call: (
                replaced(static(call["x"]), call.attr("dim"), 1)
                == replaced(static(call["index"]), call.attr("dim"), 1)
            ),
            source="torch.take_along_dim: selects values at the 1-d indices along the dim",
        ),
    },
    mindspore=limited(
        MINDSPORE_MOVING,
        {
            "function": "ops.gather_elements({x}, {dim}, {index})",
            "function_gather_d": Form(
                "ops.gather_d({x}, {dim}, {index})",
                source="mindspore.ops.gather_d: refer to ops.gather_elements",
            ),
            "mint": Form(
                "mint.gather({x}, {dim}, {index})",
                source="mindspore.mint.gather: gather along dim, out[i] = input[index[i]]",
            ),
            "method": Form(
                "{x}.gather({dim}, {index})",
                source="mindspore.Tensor.gather(dim, index): gather along dim by index",
            ),
            "method_elements": Form(
                "{x}.gather_elements({dim}, {index})", source=mindspore_method("gather_elements")
            ),
            "primitive": Form(
                "ops.GatherD()({x}, {dim}, {index})",
                source="mindspore.ops.GatherD: refer to ops.gather_d",
            ),
        },
    ),
    tolerance=EXACT,
    companions=gather_index,
    shapes=((2, 3, 4), (3, 4), (4,)),
    tags={"indexing"},
)


def vector_index(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to index"
    yield call["index"].rank == 1, "the index is not a vector"
    yield call["index"].dtype in ("int64", "int32"), "the index is neither int64 nor int32"


def index_selected(call: OpCall) -> Dense:
    shape = replaced(static(call["x"]), call.attr("dim"), static(call["index"])[0])
    return resized(call["x"], shape)


op(
    "index_select",
    "x index:integer",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=index_selected,
    requires=vector_index,
    reference=lambda x, index, dim: np.take(x, index, axis=dim),
    torch={
        "function": "torch.index_select({x}, {dim}, {index})",
        "method": Form("{x}.index_select({dim}, {index})", source=torch_method("index_select")),
        "keyword": Form(
            "torch.index_select(input={x}, dim={dim}, index={index})", source="torch.index_select"
        ),
        "operator": Form("{x}[{index}]", when=axis_is(0), source="indexing by a tensor of int64"),
        "operator_dim1": Form(
            "{x}[:, {index}]", when=axis_is(1), source="indexing by a tensor of int64"
        ),
        "operator_last": Form(
            "{x}[..., {index}]", when=axis_is(-1), source="indexing by a tensor of int64"
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.index_select({x}, {dim}, {index})",
            "method": Form(
                "{x}.index_select({dim}, {index})",
                source="mindspore.Tensor.index_select(dim, index): values along dim",
            ),
            "function_gather": Form(
                "ops.gather({x}, {index}, {dim})",
                source="mindspore.ops.gather: the slice of the input at the indices of the axis",
            ),
            "primitive": Form(
                "ops.Gather()({x}, {index}, {dim})",
                source="mindspore.ops.Gather: refer to ops.gather",
            ),
            "keyword": Form(
                "ops.index_select({x}, axis={dim}, index={index})",
                source="mindspore.ops.index_select(input, axis, index)",
            ),
            "operator": Form(
                "{x}[{index}]", when=axis_is(0), source="mindspore tensor indexing by a tensor"
            ),
            "operator_dim1": Form(
                "{x}[:, {index}]", when=axis_is(1), source="mindspore tensor indexing by a tensor"
            ),
            "operator_last": Form(
                "{x}[..., {index}]",
                when=axis_is(-1),
                source="mindspore tensor indexing by a tensor",
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda x, attrs: {"index": index("index", 3, below=extent_of(x, attrs))},
    shapes=((2, 3, 4), (3, 4), (4,)),
    tags={"indexing"},
)

op(
    "take",
    "x index:integer",
    dtypes=MOVING,
    infer=lambda call: resized(call["x"], static(call["index"])),
    requires=lambda call: (
        (call["index"].dtype == "int64", "the index is not int64"),
        (0 not in static(call["x"]), "the input is empty"),
    ),
    reference=lambda x, index: np.take(x, index),
    torch={
        "function": "torch.take({x}, {index})",
        "method": Form("{x}.take({index})", source=torch_method("take")),
        "composed": Form(
            "{x}.flatten()[{index}]", source="torch.take: as if the input were a 1-D tensor"
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.take({x}, {index})",
            "method": Form(
                "{x}.take({index})",
                source="mindspore.Tensor.take: by default the flattened input is used",
            ),
            "composed": Form(
                "{x}.flatten()[{index}]", source="mindspore.Tensor.take: the flattened input"
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda x, attrs: {"index": index("index", 2, 3, below=max(product(static(x)), 1))},
    shapes=((2, 3, 4), (5,), (1, 1)),
    tags={"indexing"},
    limits=tuple(
        Limit(
            "mindspore",
            form=form,
            reason="the kernel Take is not registered for CPU; the documentation names no platform",
            version="2.10",
        )
        for form in ("function", "method")
    ),
)


# --------------------------------------------------------------------------------------- masks
def mask_like(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    return {"mask": Input("mask", Dense("bool", static(x)), init=ordinary("bool", 47))}


def mask_fits(call: OpCall) -> Requirement:
    yield static(call["x"]) == static(call["mask"]), "the mask has another shape"


op(
    "masked_select",
    "x mask:bool",
    dtypes=MOVING,
    infer=lambda call: Dense(call["x"].dtype, (Dynamic(call["x"].elements),)),
    requires=mask_fits,
    reference=lambda x, mask: x[mask],
    torch={
        "function": "torch.masked_select({x}, {mask})",
        "method": Form("{x}.masked_select({mask})", source=torch_method("masked_select")),
        "operator": Form("{x}[{mask}]", source="indexing by a boolean tensor selects"),
        "keyword": Form("torch.masked_select(input={x}, mask={mask})", source="masked_select"),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.masked_select({x}, {mask})",
            "method": Form("{x}.masked_select({mask})", source=mindspore_method("masked_select")),
            "mint": Form("mint.masked_select({x}, {mask})", source="mindspore.mint.masked_select"),
            "primitive": Form(
                "ops.MaskedSelect()({x}, {mask})",
                source="mindspore.ops.MaskedSelect: refer to ops.masked_select",
            ),
            "operator": Form("{x}[{mask}]", source="mindspore tensor indexing by a bool tensor"),
        },
    ),
    tolerance=EXACT,
    companions=mask_like,
    shapes=((2, 3, 4), (5,)),
    tags={"indexing", "dynamic"},
)


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    result = x.copy()
    result[mask] = source.reshape(-1)[: int(mask.sum())]
    return result


op(
    "masked_scatter",
    "x mask:bool source",
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=lambda call: (
        *mask_fits(call),
        (
            product(static(call["source"])) >= product(static(call["x"])),
            "the source has fewer elements than the mask may select",
        ),
    ),
    reference=masked_scatter,
    torch={
        "function": "torch.masked_scatter({x}, {mask}, {source})",
        "method": Form(
            "{x}.masked_scatter({mask}, {source})", source=torch_method("masked_scatter")
        ),
        "inplace": Form(
            "{x}.clone().masked_scatter_({mask}, {source})",
            source="torch.Tensor.masked_scatter: out-of-place version of masked_scatter_()",
        ),
    },
    mindspore=limited(
        ("float32", "float16", "float64", "int32", "int64"),
        {
            "method": "{x}.masked_scatter({mask}, {source})",
            "keyword": Form(
                "{x}.masked_scatter(mask={mask}, source={source})",
                source="mindspore.Tensor.masked_scatter(mask, source)",
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda x, attrs: {**mask_like(x, attrs), "source": beside("source", x)},
    shapes=((2, 3, 4), (5,)),
    tags={"indexing", "shape-preserving"},
)

op(
    "nonzero",
    "x",
    dtypes=(*NUMBERS, "bool"),
    infer=lambda call: Dense("int64", (Dynamic(call["x"].elements), call["x"].rank)),
    requires=lambda call: ((call["x"].rank > 0, "a scalar has no positions"),),
    reference=lambda x: np.argwhere(x).astype(np.int64),
    torch={
        "function": "torch.nonzero({x})",
        "method": Form("{x}.nonzero()", source=torch_method("nonzero")),
        "function_argwhere": Form(
            "torch.argwhere({x})", source="torch.argwhere: indices of all non-zero elements"
        ),
        "keyword": Form(
            "torch.nonzero({x}, as_tuple=False)", source=default("torch.nonzero", "as_tuple=False")
        ),
        "composed": Form(
            "torch.stack(torch.nonzero({x}, as_tuple=True), 1)",
            source="torch.nonzero: as_tuple=True gives one tensor for each dimension",
        ),
    },
    mindspore=limited(
        MINDSPORE_MOVING,
        {
            "function": "ops.nonzero({x})",
            "method": Form(
                "{x}.nonzero()", source="mindspore.Tensor.nonzero: positions of non-zero values"
            ),
            "mint": Form("mint.nonzero({x})", source="mindspore.mint.nonzero(input)"),
            "function_argwhere": Form(
                "ops.argwhere({x})",
                source="mindspore.ops.argwhere: positions of all non-zero values",
            ),
            "primitive": Form(
                "ops.NonZero()({x})", source="mindspore.ops.NonZero: refer to ops.nonzero"
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((3, 4), (5,), (2, 2, 3)),
    domain=(-1.0, 1.0),
    tags={"indexing", "dynamic"},
    differentiable=False,
)
