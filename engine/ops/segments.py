"""Rows gathered into segments, bags and places: sums, extremes and products by an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.ir.graph import Attr, Formula, Input
from engine.ir.types import FLOATS, Dense
from engine.ops.numeric import Array, widened
from engine.ops.operands import beside, index
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    MINDSPORE_MOVING,
    MINDSPORE_NUMBERS,
    MOVING,
    NUMBERS,
    Requirement,
    default,
    limited,
    mindspore_method,
    mindspore_primitive,
    resized,
    same_as_first,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
INTEGER_IDS = ("int32", "int64")


# -------------------------------------------------------------------------------------- segments
def segmented(call: OpCall) -> Dense:
    return resized(call["x"], (call.integer("count"), *static(call["x"])[1:]))


def segments_fit(call: OpCall) -> Requirement:
    x, ids = static(call["x"]), static(call["ids"])
    yield call["ids"].dtype in INTEGER_IDS, "the ids are neither int32 nor int64"
    yield bool(x) and ids == x[:1], f"ids of shape {ids} for rows of {x}"
    yield 0 not in x, "the input is empty"


def every_segment_has_rows(call: OpCall) -> Requirement:
    """What the least or greatest of nothing is, each framework says for itself."""
    yield from segments_fit(call)
    x = static(call["x"])
    yield call.integer("count") <= (x[0] if x else 0), "there are fewer rows than segments"


def ids_in_turn(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    """Ids that leave no segment empty: what an empty one holds differs."""
    count = attrs["count"]
    assert isinstance(count, int)
    values = tuple(range(0, count, 2)) + tuple(range(1, count, 2))
    init = Formula("cycle", (("values", values),))
    shape = static(x)[:1]
    return {"ids": Input("ids", Dense("int32", shape), role="constant", init=init)}


def by_segment(reduce: Callable[..., Any]) -> Callable[..., Array]:
    def reference(x: Array, ids: Array, count: int) -> Array:
        found = [reduce(x[ids == at], axis=0) for at in range(count)]
        return np.asarray(np.stack(found), x.dtype)

    return reference


_SPREAD = "{ids}.long().reshape(-1, *[1] * ({x}.dim() - 1)).expand_as({x})"
_ROOM = "torch.zeros(({count}, *{x}.shape[1:]), dtype={x}.dtype)"


def _segment(
    name: str,
    reduce: str,
    function: Callable[..., Any],
    *,
    tolerance: Tolerance,
    method: bool,
) -> None:
    api = f"unsorted_segment_{name}"
    camel = f"UnsortedSegment{name.capitalize()}"
    torch: dict[str, str | Form] = {
        "composed": Form(
            f'torch.scatter_reduce({_ROOM}, 0, {_SPREAD}, {{x}}, "{reduce}", include_self=False)',
            api="torch.scatter_reduce",
        ),
    }
    if name == "sum":
        torch["composed_add"] = Form(
            f"torch.index_add({_ROOM}, 0, {{ids}}, {{x}})",
            source="torch.index_add: accumulates the elements by adding to the indices",
        )
        torch["composed_scatter"] = Form(
            f"torch.scatter_add({_ROOM}, 0, {_SPREAD}, {{x}})",
            source="torch.scatter_add: self[index[i][j]][j] += src[i][j]",
        )
    else:
        torch["composed_index"] = Form(
            f'torch.index_reduce({_ROOM}, 0, {{ids}}.long(), {{x}}, "{reduce}",'
            " include_self=False)",
            source="torch.Tensor.index_reduce_: accumulates by the reduction, self left out",
        )
    mindspore: dict[str, str | Form] = {
        "function": f"ops.{api}({{x}}, {{ids}}, {{count}})",
        "primitive": Form(
            "{self}({x}, {ids}, {count})",
            setup=(f"{{self}} = ops.{camel}()",),
            source=mindspore_primitive(camel, api),
        ),
        "function_tensor": Form(
            f"ops.{api}({{x}}, {{ids}}, Tensor({{count}}, ms.int32))",
            source=f"mindspore.ops.{api}: num_segments, an int or 0-D tensor",
        ),
    }
    if method:
        mindspore["method"] = Form(f"{{x}}.{api}({{ids}}, {{count}})", source=mindspore_method(api))
    op(
        f"segment_{name}",
        "x ids:integer",
        attrs={"count": (3, 1, 2)},
        dtypes=NUMBERS,
        infer=segmented,
        requires=segments_fit if name == "sum" else every_segment_has_rows,
        reference=widened(by_segment(function)),
        torch=torch,
        mindspore=limited(MINDSPORE_NUMBERS, mindspore),
        tolerance=tolerance,
        companions=ids_in_turn,
        shapes=((4, 3), (5,), (3, 2, 2)),
        tags={"indexing", "segments"},
    )


_segment("sum", "sum", np.sum, tolerance=Tolerance.ACCUMULATING, method=False)
_segment("max", "amax", np.max, tolerance=EXACT, method=True)
_segment("min", "amin", np.min, tolerance=EXACT, method=True)
_segment("prod", "prod", np.prod, tolerance=Tolerance.ACCUMULATING, method=True)


# --------------------------------------------------------------------------------------- lengths
def lengths_type(call: OpCall) -> Dense:
    return resized(call["x"], (len(call.integers("lengths")), *static(call["x"])[1:]))


def lengths_fit(call: OpCall) -> Requirement:
    shape = static(call["x"])
    lengths = call.integers("lengths")
    yield bool(shape) and sum(lengths) == shape[0], f"lengths {lengths} of rows {shape[:1]}"


_REDUCED: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
}


def by_length(x: Array, reduce: str, lengths: tuple[int, ...]) -> Array:
    ends = np.cumsum(lengths)
    parts = [x[end - one : end] for one, end in zip(lengths, ends, strict=True)]
    return np.asarray(np.stack([_REDUCED[reduce](part, axis=0) for part in parts]), x.dtype)


_IDS = (
    "ops.searchsorted(ops.cumsum(Tensor({lengths}, ms.int64), 0), ops.arange({x}.shape[0]),"
    " right=True)"
)
_COUNT = "len({lengths})"
_DIVISORS = "Tensor({lengths}, {x}.dtype).reshape(-1, *[1] * ({x}.ndim - 1))"


def _by_ids(name: str, tail: str = "") -> str:
    return f"ops.unsorted_segment_{name}({{x}}, {_IDS}, {_COUNT}){tail}"


op(
    "segment_reduce",
    "x",
    attrs={
        "reduce": ("sum", "mean", "max", "min", "prod"),
        "lengths": ((1, 3), (2, 1, 1), (4,)),
    },
    dtypes=("float32", "float64", "float16"),
    infer=lengths_type,
    requires=lengths_fit,
    reference=widened(by_length),
    torch={
        "function": "torch.segment_reduce({x}, {reduce}, lengths=torch.tensor({lengths}))",
        "function_offsets": Form(
            "torch.segment_reduce({x}, {reduce}, offsets=torch.cumsum(torch.tensor((0,"
            " *{lengths})), 0))",
            source="torch.segment_reduce: offsets of the segments, the last is the extent",
        ),
        "composed": Form(
            "torch.stack([one.sum(0) for one in torch.split({x}, {lengths})])",
            when={"reduce": "sum"},
            source="torch.split: chunks of the sizes given along the axis",
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {
            f"composed_{name}": Form(
                _by_ids(name),
                when={"reduce": name},
                source=f"mindspore.ops.unsorted_segment_{name}: {name} of equal ids",
            )
            for name in ("sum", "max", "min", "prod")
        }
        | {
            "composed_mean": Form(
                _by_ids(
                    "sum", " / Tensor({lengths}, {x}.dtype).reshape(-1, *[1] * ({x}.ndim - 1))"
                ),
                when={"reduce": "mean"},
                source="mindspore.ops.unsorted_segment_sum: the sum of equal ids",
            )
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    shapes=((4, 3), (4,)),
    tags={"indexing", "segments"},
)


# ------------------------------------------------------------------------------------------ bags
def bag_type(call: OpCall) -> Dense:
    return resized(call["w"], (shape_of(call["x"], 2)[0], shape_of(call["w"], 2)[1]))


def bag_fits(call: OpCall) -> Requirement:
    yield call["w"].rank == 2 and call["x"].rank == 2, "the table or the bags are not a matrix"
    yield call["x"].dtype in INTEGER_IDS, "the ids are neither int64 nor int32"
    yield 0 not in (*static(call["w"]), *static(call["x"])), "the table or the bags are empty"


def bagged(w: Array, x: Array, mode: str) -> Array:
    return np.asarray(_REDUCED[mode](w[x], axis=1)).astype(w.dtype)


_OFFSETS = "torch.arange(0, {x}.numel(), {x}.shape[1])"
op(
    "embedding_bag",
    "w x:integer",
    attrs={"mode": ("mean", "sum", "max")},
    dtypes=FLOATS,
    infer=bag_type,
    requires=bag_fits,
    reference=widened(bagged),
    companions=lambda w, attrs: {"x": index("x", 2, 3, below=max(static(w)[0], 1))},
    torch={
        "function": "F.embedding_bag({x}, {w}, mode={mode})",
        "keyword": Form(
            "F.embedding_bag(input={x}, weight={w}, mode={mode})", source="F.embedding_bag: names"
        ),
        "default": Form(
            "F.embedding_bag({x}, {w})",
            when={"mode": "mean"},
            source=default("torch.nn.functional.embedding_bag", "mode='mean'"),
        ),
        "function_offsets": Form(
            f"F.embedding_bag({{x}}.flatten(), {{w}}, {_OFFSETS}.to({{x}}.dtype), mode={{mode}})",
            source="F.embedding_bag: 1D input, offsets are the starts of the bags",
        ),
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.EmbeddingBag.from_pretrained({w}, mode={mode})",),
            source="torch.nn.EmbeddingBag.from_pretrained: an instance from a given tensor",
        ),
        "composed": Form(
            "F.embedding({x}, {w}).sum(1)",
            when={"mode": "sum"},
            source="torch.nn.EmbeddingBag: 'sum' is Embedding followed by torch.sum(dim=1)",
        ),
        "composed_mean": Form(
            "F.embedding({x}, {w}).mean(1)",
            when={"mode": "mean"},
            source="torch.nn.EmbeddingBag: 'mean' is Embedding followed by torch.mean(dim=1)",
        ),
        "composed_max": Form(
            "F.embedding({x}, {w}).amax(1)",
            when={"mode": "max"},
            source="torch.nn.EmbeddingBag: 'max' is Embedding followed by torch.max(dim=1)",
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {
            "composed": Form("ops.gather({w}, {x}, 0).sum(1)", when={"mode": "sum"}),
            "composed_mean": Form("ops.gather({w}, {x}, 0).mean(1)", when={"mode": "mean"}),
            "composed_max": Form("ops.amax(ops.gather({w}, {x}, 0), 1)", when={"mode": "max"}),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    shapes=((5, 3), (4, 1)),
    tags={"embedding"},
)


# ---------------------------------------------------------------------------------------- places
def places(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    """Four places of the leading two axes, or of the one there is."""
    leading = static(x)[:2]
    below = min(leading, default=0)
    return {"index": index("index", 4, len(leading), below=below)} if below else {}


def places_fit(call: OpCall) -> Requirement:
    x, where = static(call["x"]), shape_of(call["index"], 2)
    yield call["index"].dtype in INTEGER_IDS, "the index is neither int64 nor int32"
    yield 1 <= where[1] <= len(x), f"places of {where[1]} axes in a tensor of rank {len(x)}"
    yield 0 not in x, "the input is empty"


def gathered(call: OpCall) -> Dense:
    x, where = static(call["x"]), shape_of(call["index"], 2)
    return resized(call["x"], (where[0], *x[where[1] :]))


op(
    "gather_nd",
    "x index:integer",
    dtypes=MOVING,
    infer=gathered,
    requires=places_fit,
    reference=lambda x, index: x[tuple(index.T)],
    companions=places,
    torch={
        "composed": Form("{x}[tuple({index}.long().unbind(-1))]", api="torch.Tensor.__getitem__"),
        "composed_index": Form(
            "torch.ops.aten.index({x}, list({index}.long().unbind(-1)))",
            source="torch.Tensor: indexing by a tuple of tensors picks one place each",
        ),
    },
    mindspore=limited(
        MINDSPORE_MOVING,
        {
            "function": "ops.gather_nd({x}, {index})",
            "method": Form("{x}.gather_nd({index})", source=mindspore_method("gather_nd")),
            "primitive": Form(
                "{self}({x}, {index})",
                setup=("{self} = ops.GatherNd()",),
                source=mindspore_primitive("GatherNd", "gather_nd"),
            ),
            "keyword": Form(
                "ops.gather_nd(input_x={x}, indices={index})",
                source="mindspore.ops.gather_nd: names",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((3, 4), (5,), (2, 3, 4)),
    tags={"indexing"},
)


def placed(call: OpCall) -> Dense:
    return resized(call["x"], (call.integer("rows"), *static(call["x"])[1:]))


def rows_fit(call: OpCall) -> Requirement:
    x, where = static(call["x"]), static(call["index"])
    yield call["index"].dtype in INTEGER_IDS, "the index is neither int64 nor int32"
    yield bool(x) and where == (x[0], 1), f"an index of {where} for rows of {x}"
    yield 0 not in x, "the input is empty"


def scattered(x: Array, index: Array, rows: int) -> Array:
    found = np.zeros((rows, *x.shape[1:]), x.dtype)
    np.add.at(found, index[:, 0], x)
    return found


op(
    "scatter_nd",
    "x index:integer",
    attrs={"rows": (6, 3)},
    dtypes=NUMBERS,
    infer=placed,
    requires=rows_fit,
    reference=widened(scattered),
    companions=lambda x, attrs: (
        {"index": index("index", static(x)[0], 1, below=3, dtype="int32")} if x.rank else {}
    ),
    torch={
        "composed": Form(
            "torch.zeros(({rows}, *{x}.shape[1:]), dtype={x}.dtype)"
            ".index_put(({index}[:, 0].long(),), {x}, accumulate=True)",
            api="torch.Tensor.index_put",
        ),
        "composed_add": Form(
            "torch.zeros(({rows}, *{x}.shape[1:]), dtype={x}.dtype)"
            ".index_add(0, {index}[:, 0], {x})",
            source="torch.index_add: accumulates the elements by adding to the indices",
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "function": "ops.scatter_nd({index}, {x}, ({rows}, *{x}.shape[1:]))",
            "primitive": Form(
                "{self}({index}, {x}, ({rows}, *{x}.shape[1:]))",
                setup=("{self} = ops.ScatterNd()",),
                source=mindspore_primitive("ScatterNd", "scatter_nd"),
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    shapes=((4, 3), (5,), (2, 2, 2)),
    tags={"indexing"},
)


# ------------------------------------------------------------------------------------------ rows
def two_rows(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    rows = attrs["rows"]
    assert isinstance(rows, tuple)
    return {"v": beside("v", resized(x, (len(rows), *static(x)[1:])))} if x.rank else {}


def rows_named(call: OpCall) -> Requirement:
    x, v, rows = static(call["x"]), static(call["v"]), call.integers("rows")
    yield bool(x) and max(rows) < x[0], f"rows {rows} of {x[:1]}"
    yield v == (len(rows), *x[1:]), f"values of {v} for the rows {rows} of {x}"
    yield 0 not in x, "the input is empty"


def changed(change: Callable[[Array, Array], object]) -> Callable[..., Array]:
    def reference(x: Array, v: Array, rows: tuple[int, ...]) -> Array:
        found = x.copy()
        found[list(rows)] = change(x[list(rows)], v)
        return found

    return reference


def _rows(
    name: str,
    change: Callable[[Array, Array], object],
    torch: Mapping[str, str | Form],
    *,
    dtypes: tuple[str, ...] = MINDSPORE_NUMBERS,
) -> None:
    camel = "".join(word.capitalize() for word in name.split("_"))
    forms: dict[str, str | Form] = {
        "function": f"ops.{name}({{x}}, {{v}}, {{rows}})",
        "keyword": Form(
            f"ops.{name}(x={{x}}, v={{v}}, indices={{rows}})",
            source=f"mindspore.ops.{name}: names",
        ),
    }
    if name != "inplace_update":
        forms["primitive"] = Form(
            "{self}({x}, {v})",
            setup=(f"{{self}} = ops.{camel}({{rows}})",),
            source=mindspore_primitive(camel, name),
        )
    op(
        name,
        "x v",
        attrs={"rows": ((0, 2), (1,), (2, 0, 1))},
        dtypes=NUMBERS,
        infer=same_as_first,
        requires=rows_named,
        reference=changed(change),
        companions=two_rows,
        torch=torch,
        mindspore=limited(dtypes, forms),
        tolerance=Tolerance.ELEMENTWISE,
        shapes=((4, 3), (3,)),
        tags={"indexing", "shape-preserving"},
        doc="MindSpore's name says in place, its documentation shows a new tensor.",
    )


_WHERE = "torch.tensor({rows})"
_rows(
    "inplace_add",
    lambda x, v: x + v,
    {
        "composed": Form(f"torch.index_add({{x}}, 0, {_WHERE}, {{v}})", api="torch.index_add"),
        "composed_put": Form(
            f"{{x}}.index_put(({_WHERE},), {{v}}, accumulate=True)",
            source="torch.Tensor.index_put_: with accumulate the values are added",
        ),
    },
)
_rows(
    "inplace_sub",
    lambda x, v: x - v,
    {
        "composed": Form(
            f"torch.index_add({{x}}, 0, {_WHERE}, {{v}}, alpha=-1)", api="torch.index_add"
        ),
        "composed_put": Form(
            f"{{x}}.index_put(({_WHERE},), {{x}}[list({{rows}})] - {{v}})",
            source="torch.Tensor.index_put_: puts values into the places given",
        ),
    },
)
_rows(
    "inplace_update",
    lambda x, v: v,
    {
        "composed": Form(f"torch.index_copy({{x}}, 0, {_WHERE}, {{v}})", api="torch.index_copy"),
        "composed_put": Form(
            f"{{x}}.index_put(({_WHERE},), {{v}})",
            source="torch.Tensor.index_put_: puts values into the places given",
        ),
    },
    dtypes=("float32", "float16", "int32"),
)


# ------------------------------------------------------------------------------------- sequences
def reversed_rows(x: Array, lengths: Array) -> Array:
    found = x.copy()
    for row, length in enumerate(lengths):
        found[row, :length] = x[row, :length][::-1]
    return found


def lengths_given(call: OpCall) -> Requirement:
    x, lengths = static(call["x"]), static(call["lengths"])
    yield len(x) == 2 and lengths == x[:1], f"lengths {lengths} of rows {x}, expected a matrix"
    yield 0 not in x, "the input is empty"


_PLACES = "torch.arange({x}.shape[1])"
_TURNED = f"torch.where({_PLACES} < {{lengths}}[:, None], {{lengths}}[:, None] - 1 - {_PLACES},"
op(
    "reverse_sequence",
    "x lengths:int64",
    dtypes=MOVING,
    infer=same_as_first,
    requires=lengths_given,
    reference=reversed_rows,
    companions=lambda x, attrs: (
        {"lengths": index("lengths", static(x)[0], low=1, below=static(x)[1] + 1)}
        if x.rank == 2 and 0 not in static(x)
        else {}
    ),
    torch={
        "composed": Form(
            f"torch.gather({{x}}, 1, {_TURNED} {_PLACES}))",
            api="torch.gather",
        ),
        "composed_along": Form(
            f"torch.take_along_dim({{x}}, {_TURNED} {_PLACES}), 1)",
            source="torch.take_along_dim: values at the indices along dim",
        ),
    },
    mindspore=limited(
        MINDSPORE_MOVING,
        {
            "function": "ops.reverse_sequence({x}, {lengths}, 1, 0)",
            "primitive": Form(
                "{self}({x}, {lengths})",
                setup=("{self} = ops.ReverseSequence(1, 0)",),
                source=mindspore_primitive("ReverseSequence", "reverse_sequence"),
            ),
            "keyword": Form(
                "ops.reverse_sequence({x}, seq_lengths={lengths}, seq_dim=1, batch_dim=0)",
                source="mindspore.ops.reverse_sequence: names",
            ),
            "method": Form(
                "{x}.reverse_sequence({lengths}, 1, 0)", source=mindspore_method("reverse_sequence")
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((3, 4), (2, 5)),
    tags={"rotation", "shape-preserving"},
)
