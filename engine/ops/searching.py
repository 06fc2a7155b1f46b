"""Sorted places, counts, classes and distinct values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.ir.graph import Attr, Formula, Input
from engine.ir.types import INTEGERS, Dense, Dynamic
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import (
    MINDSPORE_NUMBERS,
    NUMBERS,
    Requirement,
    default,
    limited,
    resized,
    shape_of,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
ORDERED = ("float32", "float64", "int32", "int64")
COUNTED = ("int64", "int32")


def ascending(name: str, x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    """Five sorted values in the middle of the ordinary domain, one of them twice."""
    values: tuple[Attr, ...] = (-1.0, 0.0, 0.0, 1.0, 2.0)
    init = Formula("cycle", (("values", values),))
    return {name: Input(name, Dense(x.dtype, (5,)), role="constant", init=init)}


def index_type(call: OpCall) -> Dense:
    return resized(call["x"], static(call["x"]), "int64")


def bounds_fit(call: OpCall) -> Requirement:
    yield call["bounds"].rank == 1, "the boundaries are no vector"
    yield 0 not in static(call["bounds"]), "there are no boundaries"


def bucket(x: Array, bounds: Array, *, right: bool) -> Array:
    return np.searchsorted(bounds, x, side="right" if right else "left").astype(np.int64)


op(
    "searchsorted",
    "x bounds",
    attrs={"right": (False, True)},
    dtypes=ORDERED,
    infer=index_type,
    requires=bounds_fit,
    reference=lambda x, bounds, right: bucket(x, bounds, right=right),
    torch={
        "function": "torch.searchsorted({bounds}, {x}, right={right})",
        "default": Form(
            "torch.searchsorted({bounds}, {x})",
            when={"right": False},
            source=default("torch.searchsorted", "right=False"),
        ),
        "keyword": Form(
            "torch.searchsorted({bounds}, {x}, out_int32=False, side='right')",
            when={"right": True},
            source="torch.searchsorted: side 'right' corresponds to True for right",
        ),
        "keyword_int32": Form(
            "torch.searchsorted({bounds}, {x}, out_int32=True, right={right}).long()",
            source="torch.searchsorted: out_int32 is the dtype of the result alone",
        ),
        "function_bucketize": Form(
            "torch.bucketize({x}, {bounds}, right={right})",
            source="torch.bucketize: the index of the bucket, as searchsorted with a vector",
        ),
        "composed": Form(
            "({bounds} < {x}[..., None]).sum(-1)",
            when={"right": False},
            source="torch.searchsorted: boundaries[i-1] < value <= boundaries[i]",
        ),
    },
    mindspore=limited(
        ORDERED,
        {
            "function": "ops.searchsorted({bounds}, {x}, right={right})",
            "default": Form(
                "ops.searchsorted({bounds}, {x})",
                when={"right": False},
                source=default("mindspore.ops.searchsorted", "out_int32=False, right=False"),
            ),
            "keyword": Form(
                "ops.searchsorted({bounds}, {x}, out_int32=False, side='right')",
                when={"right": True},
                source="mindspore.ops.searchsorted: side 'right' is right=True",
            ),
            "keyword_int32": Form(
                "ops.searchsorted({bounds}, {x}, out_int32=True, right={right}).astype(ms.int64)",
                source="mindspore.ops.searchsorted: out_int32 is the dtype of the result alone",
            ),
            "mint": Form(
                "mint.searchsorted({bounds}, {x}, right={right})",
                source="mindspore.mint.searchsorted(sorted_sequence, values)",
            ),
            "primitive": Form(
                "ops.SearchSorted(ms.int64, {right})({bounds}, {x})",
                source="mindspore.ops.SearchSorted(dtype, right): see ops.searchsorted",
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda x, attrs: ascending("bounds", x, attrs),
    shapes=((2, 3), (5,), (2, 2, 2)),
    tags={"searching"},
    differentiable=False,
)

op(
    "bucketize",
    "x",
    attrs={"bounds": ((-1.0, 0.0, 1.0), (0.5,)), "right": (False, True)},
    dtypes=("float32", "float64"),
    infer=index_type,
    reference=lambda x, bounds, right: bucket(x, np.asarray(bounds, x.dtype), right=right),
    torch={
        "function": "torch.bucketize({x}, torch.tensor({bounds}, dtype={x}.dtype), right={right})",
        "default": Form(
            "torch.bucketize({x}, torch.tensor({bounds}, dtype={x}.dtype))",
            when={"right": False},
            source=default("torch.bucketize", "right=False"),
        ),
        "function_searchsorted": Form(
            "torch.searchsorted(torch.tensor({bounds}, dtype={x}.dtype), {x}, right={right})",
            source="torch.searchsorted: the same order of boundaries and values",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": Form(
                "ops.bucketize({x}, list({bounds}), right={right})",
                result="{out}.astype(ms.int64)",
            ),
            "default": Form(
                "ops.bucketize({x}, list({bounds}))",
                when={"right": False},
                result="{out}.astype(ms.int64)",
                source=default("mindspore.ops.bucketize", "right=False"),
            ),
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Bucketize(list({bounds}))",),
                when={"right": True},
                result="{out}.astype(ms.int64)",
                source="mindspore.ops.Bucketize: bucketizes input based on boundaries, int32",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3), (5,)),
    tags={"searching"},
    differentiable=False,
    doc="MindSpore's result is int32, as its documentation's examples print it.",
)


# ------------------------------------------------------------------------------------ counting
op(
    "one_hot",
    "x",
    attrs={"n": (5, 3)},
    dtypes=("int64",),
    infer=lambda call: resized(call["x"], (*static(call["x"]), call.integer("n")), "int64"),
    reference=lambda x, n: np.eye(n, dtype=np.int64)[np.clip(x, 0, n - 1)],
    torch={
        "function": "F.one_hot({x}.clamp(0, {n} - 1), {n})",
        "keyword": Form("F.one_hot({x}.clamp(0, {n} - 1), num_classes={n})", source="F.one_hot"),
        "composed": Form(
            "({x}.clamp(0, {n} - 1)[..., None] == torch.arange({n})).to(torch.int64)",
            source="torch.nn.functional.one_hot: 1 where the index of the last dim matches",
        ),
    },
    mindspore=limited(
        ("int64",),
        {
            "function": "ops.one_hot({x}.clamp(0, {n} - 1), {n}, 1, 0)",
            "default": Form(
                "ops.one_hot({x}.clamp(0, {n} - 1), {n})",
                source=default("mindspore.ops.one_hot", "on_value=1, off_value=0, axis=-1"),
            ),
            "tensor": Form(
                "ops.one_hot({x}.clamp(0, {n} - 1), {n}, Tensor(1, ms.int64), Tensor(0, ms.int64))",
                source="mindspore.ops.one_hot: on_value (Union[Tensor, int, float])",
            ),
            "mint": Form(
                "mint.nn.functional.one_hot({x}.clamp(0, {n} - 1), {n})",
                source="mindspore.mint.nn.functional.one_hot(tensor, num_classes=-1)",
            ),
            "primitive": Form(
                "ops.OneHot()({x}.clamp(0, {n} - 1), {n}, Tensor(1, ms.int64),"
                " Tensor(0, ms.int64))",
                source="mindspore.ops.OneHot: refer to mindspore.ops.one_hot",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((4,), (2, 3), ()),
    domain=(0.0, 4.0),
    tags={"counting"},
    differentiable=False,
    doc="Values outside the classes are clamped: what they would mean is undefined.",
)

op(
    "bincount",
    "x",
    attrs={"n": (5, 8, 1)},
    dtypes=COUNTED,
    infer=lambda call: resized(call["x"], (call.integer("n"),), "int64"),
    requires=lambda call: ((call["x"].rank == 1, "the input is no vector"),),
    reference=lambda x, n: np.bincount(np.clip(x, 0, n - 1), minlength=n).astype(np.int64),
    torch={
        "function": "torch.bincount({x}.clamp(0, {n} - 1), minlength={n})",
        "method": Form(
            "{x}.clamp(0, {n} - 1).bincount(minlength={n})", source=torch_method("bincount")
        ),
        "composed": Form(
            "F.one_hot({x}.clamp(0, {n} - 1).to(torch.int64), {n}).sum(0)",
            source="torch.bincount: the number of occurrences of each value",
        ),
    },
    mindspore=limited(
        COUNTED,
        {
            "function": Form(
                "ops.bincount({x}.clamp(0, {n} - 1), minlength={n})",
                result="{out}.astype(ms.int64)",
            ),
            "method": Form(
                "{x}.clamp(0, {n} - 1).bincount(minlength={n})",
                result="{out}.astype(ms.int64)",
                source="mindspore.Tensor.bincount: for details refer to mindspore.ops.bincount",
            ),
            "primitive": Form(
                "{self}({x}.clamp(0, {n} - 1), Tensor({n}, ms.int32), ops.ones_like({x}))",
                setup=("{self} = ops.Bincount()",),
                result="{out}.astype(ms.int64)",
                dtypes=("int32",),
                source="mindspore.ops.Bincount: counts each value, weighted; size bins",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((6,), (1,)),
    domain=(0.0, 4.0),
    tags={"counting"},
    differentiable=False,
    doc="Values outside the bins are clamped, which bounds the length of the result.",
)


def histogram(x: Array, bins: int, low: float, high: float) -> Array:
    return np.histogram(x, bins=bins, range=(low, high))[0].astype(x.dtype)


op(
    "histc",
    "x",
    attrs={"bins": (4, 1, 7), "low": (-2.0,), "high": (2.0,)},
    dtypes=("float32", "float64"),
    infer=lambda call: resized(call["x"], (call.integer("bins"),)),
    reference=lambda x, bins, low, high: histogram(x, bins, low, high),
    torch={
        "function": "torch.histc({x}, {bins}, {low}, {high})",
        "method": Form("{x}.histc({bins}, {low}, {high})", source=torch_method("histc")),
        "keyword": Form(
            "torch.histc({x}, bins={bins}, min={low}, max={high})", source="torch.histc"
        ),
        "function_histogram": Form(
            "torch.histogram({x}, {bins}, range=({low}, {high})).hist",
            source="torch.histogram: bins over a range, elements outside are ignored",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": Form(
                "ops.histc({x}, {bins}, {low}, {high})", result="{out}.astype({x}.dtype)"
            ),
            "method": Form(
                "{x}.histc({bins}, {low}, {high})",
                result="{out}.astype({x}.dtype)",
                source="mindspore.Tensor.histc(bins=100, min=0, max=0)",
            ),
            "primitive": Form(
                "ops.Histogram({bins}, {low}, {high})({x})",
                result="{out}.astype({x}.dtype)",
                source="mindspore.ops.Histogram: counts of equal-width bins, int32",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (9,)),
    tags={"counting"},
    differentiable=False,
)


# ------------------------------------------------------------------------------ distinct values
def distinct_type(call: OpCall) -> Dense:
    return Dense(call["x"].dtype, (Dynamic(call["x"].elements),))


op(
    "unique",
    "x",
    dtypes=(*INTEGERS, "float32", "float64"),
    infer=distinct_type,
    requires=lambda call: ((0 not in static(call["x"]), "the input is empty"),),
    reference=lambda x: np.unique(x),
    torch={
        "function": "torch.unique({x})",
        "method": Form("{x}.unique()", source=torch_method("unique")),
        "keyword": Form(
            "torch.unique({x}, sorted=True, return_inverse=False)",
            source=default("torch.unique", "sorted=True, return_inverse=False"),
        ),
        "composed": Form(
            "torch.unique_consecutive({x}.flatten().sort().values)",
            source="torch.unique_consecutive: eliminates all but the first of equal neighbours",
        ),
    },
    mindspore=limited(
        ("float32", "int32", "int64"),
        {
            "composed": "ops.sort(ops.unique({x})[0].astype(ms.float32))[0].astype({x}.dtype)",
            "function_consecutive": Form(
                "ops.unique_consecutive(ops.sort({x}.flatten())[0])",
                source="mindspore.ops.unique_consecutive: of equal neighbours the first stays",
            ),
            "primitive": Form(
                "ops.sort(ops.Unique()({x})[0].astype(ms.float32))[0].astype({x}.dtype)",
                when=lambda call: call["x"].rank == 1,
                source="mindspore.ops.Unique: the unique elements and their indices",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((6,), (2, 3)),
    domain=(-2.0, 2.0),
    tags={"searching", "dynamic"},
    differentiable=False,
)


def consecutive(x: Array) -> Array:
    flat = x.reshape(-1)
    keep = np.ones(flat.shape, bool)
    keep[1:] = flat[1:] != flat[:-1]
    found: Array = flat[keep]
    return found


op(
    "unique_consecutive",
    "x",
    dtypes=ORDERED,
    infer=distinct_type,
    requires=lambda call: ((0 not in static(call["x"]), "the input is empty"),),
    reference=consecutive,
    torch={
        "function": "torch.unique_consecutive({x})",
        "method": Form("{x}.unique_consecutive()", source=torch_method("unique_consecutive")),
    },
    mindspore=limited(
        ORDERED,
        {
            "function": "ops.unique_consecutive({x})",
            "mint": Form(
                "mint.unique_consecutive({x})", source="mindspore.mint.unique_consecutive"
            ),
            "method": Form(
                "{x}.unique_consecutive()",
                source="mindspore.Tensor.unique_consecutive: refer to ops.unique_consecutive",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((6,), (2, 3)),
    tags={"searching", "dynamic"},
    differentiable=False,
)


# ------------------------------------------------------------------------------------ products
def grid_type(call: OpCall) -> Dense:
    a, b = shape_of(call["x"], 1), shape_of(call["y"], 1)
    return resized(call["x"], (a[0] * b[0], 2))


op(
    "cartesian_prod",
    "x y",
    dtypes=NUMBERS,
    infer=grid_type,
    reference=lambda x, y: np.stack(
        [one.reshape(-1) for one in np.meshgrid(x, y, indexing="ij")], axis=1
    ),
    torch={
        "function": "torch.cartesian_prod({x}, {y})",
        "composed": Form(
            'torch.stack([one.flatten() for one in torch.meshgrid({x}, {y}, indexing="ij")], 1)',
            source="torch.cartesian_prod: behaves like itertools.product",
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "function": "ops.cartesian_prod({x}, {y})",
            "composed": Form(
                'ops.stack([one.flatten() for one in ops.meshgrid({x}, {y}, indexing="ij")], 1)',
                source="mindspore.ops.cartesian_prod: similar to itertools.product",
            ),
        },
    ),
    tolerance=EXACT,
    companions=lambda x, attrs: {"y": beside("y", resized(x, (3,)))},
    shapes=((4,), (1,)),
    tags={"joining"},
)
