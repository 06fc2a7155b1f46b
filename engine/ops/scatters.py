"""Values written out of place at the places that an index names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.ir.graph import Attr, Input
from engine.ir.types import Dense
from engine.ops.indexing import (
    EXACT,
    MS,
    Companions,
    extent_of,
    gather,
    gather_fits,
    gather_index,
    replaced,
    vector_index,
)
from engine.ops.numeric import Array
from engine.ops.operands import beside, index
from engine.ops.rules import (
    MOVING,
    NUMBERS,
    Requirement,
    axis_is,
    default,
    limited,
    mindspore_method,
    resized,
    same_as_first,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, Tolerance, op


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
            "primitive": Form(
                "ops.IndexFill()({x}, {dim}, {index}.astype(ms.int32), {value})",
                source="mindspore.ops.IndexFill: refer to mindspore.ops.index_fill",
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
