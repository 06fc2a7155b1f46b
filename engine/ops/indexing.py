"""Reading and writing by index: gathers, scatters, masks, statements that assign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
from engine.ops.shape import span
from engine.ops.spec import Form, OpCall, Tolerance, op

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
)


# ------------------------------------------------------------------------------------ scatters
def scatter_fits(call: OpCall) -> Requirement:
    yield from gather_fits(call)
    where, source = static(call["index"]), static(call["src"])
    yield where == source, f"the index {where} and the source {source} have different shapes"


def one_each(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    """Indices that meet no target twice: one along the axis."""
    shape = replaced(static(x), attrs["dim"], 1) if x.rank else ()
    return {
        "index": index("index", *shape, below=extent_of(x, attrs)),
        "src": beside("src", resized(x, shape)),
    }


def repeated(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    """Indices that may meet a target several times."""
    shape = replaced(static(x), attrs["dim"], 3) if x.rank else ()
    return {
        "index": index("index", *shape, below=extent_of(x, attrs)),
        "src": beside("src", resized(x, shape)),
    }


def targets(x: Array, where: Array, dim: int) -> tuple[Array, ...]:
    """Full indices into x of every element of a scatter's index."""
    places = list(np.indices(where.shape))
    places[dim % x.ndim] = where
    return tuple(places)


def scatter(x: Array, where: Array, src: Array, *, dim: int) -> Array:
    result = x.copy()
    result[targets(x, where, dim)] = src
    return result


def scatter_add(x: Array, where: Array, src: Array, *, dim: int) -> Array:
    if x.dtype == bool:
        return scatter(x, where, src | gather(x, where, dim=dim), dim=dim)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x.copy()
    np.add.at(wide, targets(x, where, dim), src)
    return wide.astype(x.dtype)


SCATTER_SHAPES = ((2, 3, 4), (3, 4), (4,))

op(
    "scatter",
    "x index:integer src",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=same_as_first,
    requires=scatter_fits,
    reference=lambda x, index, src, dim: scatter(x, index, src, dim=dim),
    torch={
        "function": "torch.scatter({x}, {dim}, {index}, {src})",
        "method": Form("{x}.scatter({dim}, {index}, {src})", source=torch_method("scatter")),
        "keyword": Form(
            "torch.scatter({x}, dim={dim}, index={index}, src={src})", source="torch.scatter"
        ),
        "inplace": Form(
            "{x}.clone().scatter_({dim}, {index}, {src})",
            source="torch.Tensor.scatter: out-of-place version of scatter_",
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.tensor_scatter_elements({x}, {index}, {src}, {dim})",
            "function_scatter": Form(
                "ops.scatter({x}, {dim}, {index}, {src})",
                source="mindspore.ops.scatter: refer to ops.tensor_scatter_elements",
            ),
            "method": Form(
                "{x}.scatter({dim}, {index}, {src})",
                source="mindspore.Tensor.scatter(dim, index, src): update by src",
            ),
            "mint": Form(
                "mint.scatter({x}, {dim}, {index}, {src})",
                source="mindspore.mint.scatter: update the value in src to input",
            ),
            "primitive": Form(
                "ops.TensorScatterElements({dim})({x}, {index}, {src})",
                source="mindspore.ops.TensorScatterElements: reduction 'none' is an update",
            ),
        },
    ),
    tolerance=EXACT,
    companions=one_each,
    shapes=SCATTER_SHAPES,
    tags={"indexing", "shape-preserving"},
    doc="The companions' indices meet no target twice: which of two writes wins is undefined.",
)


def value_fits(call: OpCall) -> Requirement:
    yield from gather_fits(call)
    value = call.attr("value")
    yield (
        isinstance(value, int)
        or call["x"].dtype
        in (
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "complex64",
        ),
        f"{value} is no value of {call['x'].dtype}",
    )


op(
    "scatter_value",
    "x index:integer",
    attrs={"dim": (1, 0, -1), "value": (2, 0, -1.5)},
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=value_fits,
    reference=lambda x, index, dim, value: scatter(x, index, np.asarray(value, x.dtype), dim=dim),
    torch={
        "function": "torch.scatter({x}, {dim}, {index}, {value})",
        "method": Form("{x}.scatter({dim}, {index}, {value})", source=torch_method("scatter")),
        "keyword": Form(
            "{x}.scatter(dim={dim}, index={index}, value={value})",
            source="torch.Tensor.scatter_(dim, index, value)",
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": Form(
                "ops.scatter({x}, {dim}, {index}, float({value}))",
                dtypes=("float32", "float16", "float64"),
            ),
            "method": Form(
                "{x}.scatter({dim}, {index}, float({value}))",
                dtypes=("float32", "float16", "float64"),
                source="mindspore.Tensor.scatter: src (Tensor, float)",
            ),
            "mint": Form(
                "mint.scatter({x}, {dim}, {index}, float({value}))",
                dtypes=("float32", "float16", "float64"),
                source="mindspore.mint.scatter: src (Tensor, float)",
            ),
        },
    ),
    tolerance=EXACT,
    companions=gather_index,
    shapes=SCATTER_SHAPES,
    tags={"indexing", "shape-preserving"},
)

op(
    "scatter_add",
    "x index:integer src",
    attrs={"dim": (1, 0, -1)},
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=scatter_fits,
    reference=lambda x, index, src, dim: scatter_add(x, index, src, dim=dim),
    torch={
        "function": "torch.scatter_add({x}, {dim}, {index}, {src})",
        "method": Form(
            "{x}.scatter_add({dim}, {index}, {src})", source=torch_method("scatter_add")
        ),
        "inplace": Form(
            "{x}.clone().scatter_add_({dim}, {index}, {src})",
            source="torch.Tensor.scatter_add: out-of-place version of scatter_add_",
        ),
        "composed": Form(
            'torch.scatter_reduce({x}, {dim}, {index}, {src}, reduce="sum")',
            source="torch.Tensor.scatter_reduce_: with 'sum', identical to scatter_add_()",
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": 'ops.tensor_scatter_elements({x}, {index}, {src}, {dim}, "add")',
            "keyword": Form(
                "ops.tensor_scatter_elements(input_x={x}, indices={index}, updates={src},"
                ' axis={dim}, reduction="add")',
                source="mindspore.ops.tensor_scatter_elements: 'add' adds updates to input_x",
            ),
            "primitive": Form(
                'ops.TensorScatterElements({dim}, "add")({x}, {index}, {src})',
                source="mindspore.ops.TensorScatterElements(axis=0, reduction='none')",
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=repeated,
    shapes=SCATTER_SHAPES,
    tags={"indexing", "shape-preserving"},
)


def scatter_reduce(
    x: Array, where: Array, src: Array, *, dim: int, reduce: str, include_self: bool
) -> Array:
    full = targets(x, where, dim)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x.copy()
    source = src.astype(wide.dtype)
    if not include_self:
        neutral = {"sum": 0, "mean": 0, "prod": 1, "amax": -np.inf, "amin": np.inf}
        wide[full] = neutral[reduce]
    ufunc: Mapping[str, np.ufunc] = {
        "sum": np.add,
        "mean": np.add,
        "prod": np.multiply,
        "amax": np.maximum,
        "amin": np.minimum,
    }
    ufunc[reduce].at(wide, full, source)
    if reduce == "mean":
        count = np.zeros(x.shape, np.int64)
        np.add.at(count, full, 1)
        wide = wide / np.maximum(count + include_self, 1)
    return wide.astype(x.dtype)


op(
    "scatter_reduce",
    "x index:integer src",
    attrs={
        "dim": (1, 0, -1),
        "reduce": ("sum", "amax", "mean", "prod", "amin"),
        "include_self": (True, False),
    },
    dtypes=("float32", "float64", "float16"),
    infer=same_as_first,
    requires=scatter_fits,
    reference=lambda x, index, src, dim, reduce, include_self: scatter_reduce(
        x, index, src, dim=dim, reduce=reduce, include_self=include_self
    ),
    torch={
        "function": "torch.scatter_reduce({x}, {dim}, {index}, {src}, {reduce},"
        " include_self={include_self})",
        "method": Form(
            "{x}.scatter_reduce({dim}, {index}, {src}, {reduce}, include_self={include_self})",
            source=torch_method("scatter_reduce"),
        ),
        "default": Form(
            "torch.scatter_reduce({x}, {dim}, {index}, {src}, {reduce})",
            when={"include_self": True},
            source=default("torch.Tensor.scatter_reduce_", "include_self=True"),
        ),
        "inplace": Form(
            "{x}.clone().scatter_reduce_({dim}, {index}, {src}, {reduce},"
            " include_self={include_self})",
            source="torch.Tensor.scatter_reduce: out-of-place version",
        ),
    },
    mindspore=None,
    tolerance=Tolerance.ACCUMULATING,
    companions=repeated,
    shapes=SCATTER_SHAPES,
    tags={"indexing", "shape-preserving"},
)


# -------------------------------------------------------------------------------- index_* family
def index_source_fits(call: OpCall) -> Requirement:
    yield from vector_index(call)
    wanted = replaced(static(call["x"]), call.attr("dim"), static(call["index"])[0])
    yield static(call["src"]) == wanted, f"the source is not of shape {wanted}"


def index_source(count: int) -> Companions:
    def companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
        extent = extent_of(x, attrs)
        shape = replaced(static(x), attrs["dim"], count)
        return {
            "index": index("index", count, below=extent),
            "src": beside("src", resized(x, shape)),
        }

    return companions


def index_add(x: Array, where: Array, src: Array, *, dim: int, alpha: int) -> Array:
    wide = x.astype(np.float32) if x.dtype == np.float16 else x.copy()
    np.add.at(np.moveaxis(wide, dim, 0), where, alpha * np.moveaxis(src, dim, 0))
    return wide.astype(x.dtype)


op(
    "index_add",
    "x index:integer src",
    attrs={"dim": (1, 0, -1), "alpha": (1, 2)},
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=index_source_fits,
    reference=lambda x, index, src, dim, alpha: index_add(x, index, src, dim=dim, alpha=alpha),
    torch={
        "function": "torch.index_add({x}, {dim}, {index}, {src}, alpha={alpha})",
        "method": Form(
            "{x}.index_add({dim}, {index}, {src}, alpha={alpha})",
            source=torch_method("index_add"),
        ),
        "default": Form(
            "torch.index_add({x}, {dim}, {index}, {src})",
            when={"alpha": 1},
            source=default("torch.Tensor.index_add_", "alpha=1"),
        ),
        "inplace": Form(
            "{x}.clone().index_add_({dim}, {index}, {src}, alpha={alpha})",
            source="torch.index_add: see index_add_() for the function description",
        ),
    },
    mindspore=limited(
        ("float32", "float16", "float64", "int32", "int64"),
        {
            "composed": Form(
                "ops.tensor_scatter_add({x}, {index}.expand_dims(1), {src} * {alpha})",
                when=axis_is(0),
            ),
            "method": Form(
                "{x}.index_add({index}.astype(ms.int32), {src} * {alpha}, {dim})",
                dtypes=("float32", "float16", "float64", "int32"),
                source="mindspore.Tensor.index_add: adds y to self at the int32 indices",
            ),
            "primitive": Form(
                "ops.TensorScatterAdd()({x}, {index}.expand_dims(1), {src} * {alpha})",
                when=axis_is(0),
                source="mindspore.ops.TensorScatterAdd: refer to ops.tensor_scatter_add",
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=index_source(3),
    shapes=((2, 3, 4), (3, 4), (4,)),
    tags={"indexing", "shape-preserving"},
)


def index_write(x: Array, where: Array, value: Array, dim: int) -> Array:
    result = x.copy()
    moved = np.moveaxis(result, dim, 0)
    moved[where] = value if value.ndim == 0 else np.moveaxis(value, dim, 0)
    return result


op(
    "index_copy",
    "x index:integer src",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=same_as_first,
    requires=lambda call: (
        *index_source_fits(call),
        (call["index"].dtype == "int64", "the index is not int64"),
    ),
    reference=lambda x, index, src, dim: index_write(x, index, src, dim),
    torch={
        "function": "torch.index_copy({x}, {dim}, {index}, {src})",
        "method": Form("{x}.index_copy({dim}, {index}, {src})", source=torch_method("index_copy")),
        "inplace": Form(
            "{x}.clone().index_copy_({dim}, {index}, {src})",
            source="torch.index_copy: see index_copy_() for the function description",
        ),
    },
    mindspore=limited(
        MS,
        {
            "composed": Form(
                "ops.tensor_scatter_update({x}, {index}.expand_dims(1), {src})", when=axis_is(0)
            ),
            "primitive": Form(
                "ops.TensorScatterUpdate()({x}, {index}.expand_dims(1), {src})",
                when=axis_is(0),
                source="mindspore.ops.TensorScatterUpdate: updates at the indices",
            ),
        },
    ),
    tolerance=EXACT,
    companions=index_source(1),
    shapes=((2, 3, 4), (3, 4), (4,)),
    tags={"indexing", "shape-preserving"},
)


def fill_fits(call: OpCall) -> Requirement:
    yield from vector_index(call)
    value, dtype = call.attr("value"), call["x"].dtype
    yield isinstance(value, int) or dtype.startswith(("float", "bfloat")), "a fraction for integers"


op(
    "index_fill",
    "x index:integer",
    attrs={"dim": (1, 0, -1), "value": (2, 0, 0.5)},
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=lambda call: (
        *fill_fits(call),
        (call["index"].dtype == "int64", "the index is not int64"),
    ),
    reference=lambda x, index, dim, value: index_write(x, index, np.asarray(value, x.dtype), dim),
    torch={
        "function": "torch.index_fill({x}, {dim}, {index}, {value})",
        "method": Form(
            "{x}.index_fill({dim}, {index}, {value})", source=torch_method("index_fill")
        ),
        "tensor": Form(
            "torch.index_fill({x}, {dim}, {index}, torch.tensor({value}, dtype={x}.dtype))",
            source="torch.Tensor.index_fill_: value may be a 0-dimensional tensor",
        ),
        "inplace": Form(
            "{x}.clone().index_fill_({dim}, {index}, {value})",
            source="torch.Tensor.index_fill: out-of-place version of index_fill_()",
        ),
    },
    mindspore=limited(
        ("float32", "float16", "float64", "int32", "int64"),
        {
            "function": "ops.index_fill({x}, {dim}, {index}.astype(ms.int32), {value})",
            "method": Form(
                "{x}.index_fill({dim}, {index}.astype(ms.int32), {value})",
                source=mindspore_method("index_fill"),
            ),
            "tensor": Form(
                "ops.index_fill({x}, {dim}, {index}.astype(ms.int32), Tensor({value}, {x}.dtype))",
                source="mindspore.ops.index_fill: value (Union[bool, int, float, Tensor])",
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda x, attrs: {"index": index("index", 2, below=extent_of(x, attrs))},
    shapes=((2, 3, 4), (3, 4), (4,)),
    tags={"indexing", "shape-preserving"},
)


def index_put(x: Array, where: Array, values: Array, *, accumulate: bool) -> Array:
    result = x.copy()
    if accumulate:
        np.add.at(result, where, values)
    else:
        result[where] = values
    return result


op(
    "index_put",
    "x index:integer values",
    attrs={"accumulate": (False, True)},
    dtypes=("float32", "float64", "int32", "int64"),
    infer=same_as_first,
    requires=lambda call: (
        (call["x"].rank > 0 and 0 not in static(call["x"]), "the input has nothing to index"),
        (call["index"].rank == 1, "the index is not a vector"),
        (call["index"].dtype == "int64", "the index is not int64"),
        (static(call["values"]) in ((1,), ()), "the value is not a single one"),
    ),
    reference=lambda x, index, values, accumulate: index_put(
        x, index, values, accumulate=accumulate
    ),
    torch={
        "function": "torch.index_put({x}, ({index},), {values}, {accumulate})",
        "method": Form(
            "{x}.index_put(({index},), {values}, accumulate={accumulate})",
            source=torch_method("index_put"),
        ),
        "default": Form(
            "torch.index_put({x}, ({index},), {values})",
            when={"accumulate": False},
            source=default("torch.Tensor.index_put_", "accumulate=False"),
        ),
        "inplace": Form(
            "{x}.clone().index_put_(({index},), {values}, {accumulate})",
            source="torch.Tensor.index_put: out-of-place version of index_put_",
        ),
    },
    mindspore=limited(
        ("float32", "float64", "int32", "int64"),
        {
            "method": "{x}.index_put(({index},), {values}, {accumulate})",
            "default": Form(
                "{x}.index_put(({index},), {values})",
                when={"accumulate": False},
                source=default("mindspore.Tensor.index_put", "accumulate=False"),
            ),
            "keyword": Form(
                "{x}.index_put(indices=[{index}], values={values}, accumulate={accumulate})",
                source="mindspore.Tensor.index_put: indices (tuple[Tensor], list[Tensor])",
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda x, attrs: {
        "index": index("index", 2, below=max(static(x)[0], 1) if x.rank else 1),
        "values": beside("values", resized(x, (1,))),
    },
    shapes=((3, 4), (4,), (2, 3, 4)),
    tags={"indexing", "shape-preserving"},
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
