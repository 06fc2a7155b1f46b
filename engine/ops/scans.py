"""Along one axis: running totals and extremes, differences, sorting, the largest.

Places of equal values are undefined, except where a sort is asked to be stable (tag "ties").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import FLOATS, Dense, Tuple, Type, is_integer
from engine.ops.families import (
    MINDSPORE_FLOATS,
    Array,
    Forms,
    axis_fits,
    lifted,
    mindspore_calls,
    no_bfloat16,
    normalised_axis,
    same_type,
    torch_calls,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_SHAPES = ((2, 3, 4), (5,), (2, 1, 3, 2), (1, 1))
_DIMS: tuple[Attr, ...] = (-1, 0, 1, -2)
_USUAL = (*FLOATS, "int32", "int64")
_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")
# MindSpore answers with int32 places from Sort, TopK and Cummin, and promises no dtype elsewhere.
_PLACES = "({out}[0], {out}[1].astype(ms.int64))"
_NAMED = "input={x}, dim={dim}"
_rule: Callable[..., object]


def running_type(call: OpCall) -> Type:
    """Integers add up in int64."""
    x = call["x"]
    return Dense("int64" if is_integer(x.dtype) else x.dtype, x.shape)


def values_and_places_type(call: OpCall) -> Type:
    x = call["x"]
    return Tuple((Dense(x.dtype, x.shape), Dense("int64", x.shape)))


def has_axes(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield call["x"].rank > 0, "a scalar has no axis"
    yield from axis_fits(call)


def _scan(
    name: str,
    *,
    reference: Callable[..., object],
    torch: Forms,
    mindspore: Forms | None,
    infer: Callable[[OpCall], Type] = same_type,
    attrs: dict[str, tuple[Attr, ...]] | None = None,
    requires: Callable[[OpCall], Iterator[tuple[bool, str]]] = has_axes,
    dtypes: tuple[str, ...] = _USUAL,
    tolerance: Tolerance = Tolerance.ACCUMULATING,
    shapes: tuple[tuple[int, ...], ...] = _SHAPES,
    tags: tuple[str, ...] = (),
    differentiable: bool = True,
) -> None:
    op(
        name,
        "x",
        attrs={"dim": _DIMS, **(attrs or {})},
        infer=infer,
        requires=requires,
        reference=reference,
        torch=torch,
        mindspore=mindspore,
        dtypes=dtypes,
        tolerance=tolerance,
        shapes=shapes,
        tags=("scan", *tags),
        differentiable=differentiable,
        limits=no_bfloat16(dtypes),
    )


# --------------------------------------------------------------------------------- running totals
def _running(rule: Callable[..., Array]) -> Callable[..., object]:
    def reference(x: Array, *, dim: int) -> object:
        return rule(x.astype(np.int64) if x.dtype.kind in "iu" else x, axis=dim)

    return lifted(reference)


def _torch(leaf: str, *, inplace: bool = False) -> Forms:
    return torch_calls(
        f"torch.{leaf}",
        "{x}, {dim}",
        keyword=_NAMED,
        inplace=f"{{x}}.clone().{leaf}_({{dim}})" if inplace else "",
        inplace_dtypes=(*FLOATS, "int64"),
        default=Form(f"torch.{leaf}({{x}}, dim={{dim}})", source=f"torch.{leaf}: dtype=None"),
    )


for _leaf, _rule, _primitive, _parameter in (
    ("cumsum", np.cumsum, "CumSum", "x"),
    ("cumprod", np.cumprod, "CumProd", "input"),
):
    _axis_name = "axis" if _leaf == "cumsum" else "dim"
    _scan(
        _leaf,
        reference=_running(_rule),
        infer=running_type,
        shapes=(*_SHAPES, (0, 3)),
        torch=_torch(_leaf, inplace=True),
        mindspore=mindspore_calls(
            f"ops.{_leaf}",
            "{x}, {dim}",
            keyword=f"{_parameter}={{x}}, {_axis_name}={{dim}}",
            method="" if _leaf == "cumsum" else "{x}.cumprod({dim})",
            mint="mint.cumprod" if _leaf == "cumprod" else (),
            dtypes=(*MINDSPORE_FLOATS, "int64"),
            more={
                "primitive": Form(
                    "{self}({x}, {dim})",
                    setup=(f"{{self}} = ops.{_primitive}()",),
                    source=f"mindspore.ops.{_primitive}: exclusive=False, reverse=False",
                )
            },
        ),
    )


def logcumsumexp(x: Array, *, dim: int) -> object:
    return np.logaddexp.accumulate(x, axis=dim)


_scan(
    "logcumsumexp",
    reference=lifted(logcumsumexp),
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=_torch("logcumsumexp"),
    mindspore=mindspore_calls(
        "ops.logcumsumexp",
        "{x}, {dim}",
        keyword="input={x}, axis={dim}",
        more={
            "primitive": Form(
                "{self}({x}, Tensor({dim}, ms.int32))",
                setup=("{self} = ops.CumulativeLogsumexp()",),
                source="mindspore.ops.CumulativeLogsumexp: exclusive=False, reverse=False",
            )
        },
    ),
)


# ------------------------------------------------------------------------------- running extremes
def _running_extreme(better: Callable[[Array, Array], Array]) -> Callable[..., object]:
    """Values and places so far; of equals the last, as both frameworks document by example."""

    def reference(x: Array, *, dim: int) -> object:
        given = np.moveaxis(x, dim, 0)
        values, places = given.copy(), np.zeros(given.shape, np.int64)
        for at in range(1, len(given)):
            take = better(given[at], values[at - 1]) | np.isnan(given[at])
            values[at] = np.where(take, given[at], values[at - 1])
            places[at] = np.where(take, at, places[at - 1])
        return np.moveaxis(values, 0, dim), np.moveaxis(places, 0, dim)

    return lifted(reference)


for _leaf, _better, _primitive in (
    ("cummax", np.greater_equal, "Cummax"),
    ("cummin", np.less_equal, "Cummin"),
):
    _scan(
        _leaf,
        reference=_running_extreme(_better),
        infer=values_and_places_type,
        tolerance=Tolerance.EXACT,
        tags=("extreme", "ties"),
        torch=_torch(_leaf),
        mindspore=mindspore_calls(
            f"ops.{_leaf}",
            "{x}, {dim}",
            keyword="input={x}, axis={dim}",
            method=f"{{x}}.{_leaf}({{dim}})",
            dtypes=_MINDSPORE_USUAL,
            result=_PLACES,
            more={
                "primitive": Form(
                    "{self}({x})",
                    setup=(f"{{self}} = ops.{_primitive}({{dim}})",),
                    source=f"mindspore.ops.{_primitive}(axis): equivalent to ops.{_leaf}()",
                )
            },
        ),
    )


# ------------------------------------------------------------------------------------ differences
def differences_type(call: OpCall) -> Type:
    x = call["x"]
    axis = normalised_axis(call.integer("dim"), x.rank)
    left = max(x.extents[axis] - call.integer("n"), 0)
    return Dense(x.dtype, (*x.shape[:axis], left, *x.shape[axis + 1 :]))


def long_enough(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from has_axes(call)
    x = call["x"]
    axis = normalised_axis(call.integer("dim"), x.rank)
    yield (
        x.rank > 0 and x.extents[axis] > call.integer("n"),
        f"axis {axis} is too short for {call.integer('n')} differences",
    )


_scan(
    "diff",
    attrs={"n": (1, 2)},
    infer=differences_type,
    requires=long_enough,
    reference=lifted(lambda x, *, dim, n: np.diff(x, n=n, axis=dim)),
    tolerance=Tolerance.ELEMENTWISE,
    torch=torch_calls(
        "torch.diff",
        "{x}, {n}, {dim}",
        keyword="input={x}, n={n}, dim={dim}",
        inplace="",
        default=Form("torch.diff({x}, dim={dim})", when={"n": 1}, source="torch.diff: n=1"),
    ),
    # "n: The number of times values are differenced. Currently only 1 is supported."
    mindspore=mindspore_calls(
        "ops.diff",
        "{x}, {n}, {dim}",
        keyword="x={x}, n={n}, axis={dim}",
        method="{x}.diff({n}, {dim})",
        dtypes=_MINDSPORE_USUAL,
        when={"n": 1},
        default=Form("ops.diff({x}, axis={dim})", source="mindspore.ops.diff: n=1"),
        composed=Form(
            "ops.diff(ops.diff({x}, {n} - 1, {dim}), {n} - 1, {dim})",
            when={"n": 2},
            source="mindspore.ops.diff: higher-order differences are calculated recursively",
        ),
    ),
)


# ---------------------------------------------------------------------------------------- sorting
def order(x: Array, *, dim: int, descending: bool) -> Array:
    """Stable order along an axis; NaN counts as the largest, as PyTorch says."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    turned = np.flip(np.argsort(np.flip(x, axis=dim), axis=dim, kind="stable"), axis=dim)
    return x.shape[dim] - 1 - turned


def sort(x: Array, *, dim: int, descending: bool) -> object:
    places = order(x, dim=dim, descending=descending)
    return np.take_along_axis(x, places, axis=dim), places.astype(np.int64)


# Documented as well supported, but for float32, which may lose accuracy.
_SORTED = ("float16", "float32", "int32", "int64")
_ORDER = "{x}, {dim}, {descending}"
_ORDER_NAMED = "input={x}, dim={dim}, descending={descending}"
_DESCENDING: dict[str, tuple[Attr, ...]] = {"descending": (False, True)}
_scan(
    "sort",
    attrs=_DESCENDING,
    infer=values_and_places_type,
    reference=lifted(sort),
    tolerance=Tolerance.EXACT,
    tags=("ties",),
    torch=torch_calls(
        "torch.sort",
        _ORDER,
        keyword=_ORDER_NAMED,
        inplace="",
        keyword_stable=Form(
            "torch.sort({x}, stable=True, dim={dim}, descending={descending})",
            source="torch.sort: a stable order is an order",
        ),
        default=Form(
            "torch.sort({x})",
            when={"dim": -1, "descending": False},
            source="torch.sort: dim=-1, descending=False",
        ),
        function_msort=Form(
            "torch.sort({x}, {dim})", when={"descending": False}, source="torch.sort: ascending"
        ),
    ),
    mindspore=mindspore_calls(
        "ops.sort",
        _ORDER,
        keyword="input_x={x}, axis={dim}, descending={descending}",
        method="",
        dtypes=_SORTED,
        result=_PLACES,
        default=Form(
            "ops.sort({x})",
            when={"dim": -1, "descending": False},
            source="mindspore.ops.sort: axis=-1, descending=False",
        ),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Sort({dim}, {descending})",),
                source="mindspore.ops.Sort: indices are int32",
            )
        },
    ),
)
_scan(
    "argsort",
    attrs=_DESCENDING,
    infer=lambda call: Dense("int64", call["x"].shape),
    reference=lambda x, *, dim, descending: order(x, dim=dim, descending=descending).astype(
        np.int64
    ),
    tolerance=Tolerance.EXACT,
    tags=("ties",),
    differentiable=False,
    torch=torch_calls(
        "torch.argsort",
        _ORDER,
        keyword=_ORDER_NAMED,
        inplace="",
        composed=Form(
            "torch.sort({x}, {dim}, {descending})[1]", source="torch.argsort: indices of sort()"
        ),
        default=Form(
            "torch.argsort({x})",
            when={"dim": -1, "descending": False},
            source="torch.argsort: dim=-1, descending=False",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.argsort",
        _ORDER,
        keyword="input={x}, axis={dim}, descending={descending}",
        method="{x}.argsort(axis={dim}, descending={descending})",
        dtypes=_MINDSPORE_USUAL,
        result="{out}.astype(ms.int64)",
        default=Form(
            "ops.argsort({x})",
            when={"dim": -1, "descending": False},
            source="mindspore.ops.argsort: axis=-1, descending=False",
        ),
        composed=Form(
            "ops.sort({x}, {dim}, {descending})[1]",
            dtypes=("float16", "float32", "int32", "int64"),
            source="mindspore.ops.argsort: the indices of a sort",
        ),
    ),
)


def largest_type(call: OpCall) -> Type:
    x = call["x"]
    axis = normalised_axis(call.integer("dim"), x.rank)
    shape = (*x.shape[:axis], call.integer("k"), *x.shape[axis + 1 :])
    return Tuple((Dense(x.dtype, shape), Dense("int64", shape)))


def k_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from has_axes(call)
    x = call["x"]
    axis = normalised_axis(call.integer("dim"), x.rank)
    k = call.integer("k")
    yield x.rank > 0 and k <= x.extents[axis], f"k={k} is more than axis {axis} has"


def topk(x: Array, *, dim: int, k: int, largest: bool) -> object:
    places = np.take(order(x, dim=dim, descending=largest), range(k), axis=dim)
    return np.take_along_axis(x, places, axis=dim), places.astype(np.int64)


_scan(
    "topk",
    attrs={"k": (2, 1, 3), "largest": (True, False)},
    infer=largest_type,
    requires=k_fits,
    reference=lifted(topk),
    tolerance=Tolerance.EXACT,
    tags=("ties",),
    torch=torch_calls(
        "torch.topk",
        "{x}, {k}, {dim}, {largest}",
        keyword="input={x}, k={k}, dim={dim}, largest={largest}, sorted=True",
        inplace="",
        default=Form(
            "torch.topk({x}, {k})",
            when={"dim": -1, "largest": True},
            source="torch.topk: the last dimension, largest=True",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.topk",
        "{x}, {k}, {dim}, {largest}",
        keyword="input={x}, k={k}, dim={dim}, largest={largest}, sorted=True",
        method="",
        dtypes=_MINDSPORE_USUAL,
        result=_PLACES,
        default=Form(
            "ops.topk({x}, {k})",
            when={"dim": -1, "largest": True},
            source="mindspore.ops.topk: the last dimension, largest=True",
        ),
        more={
            "primitive": Form(
                "{self}({x}, {k})",
                setup=("{self} = ops.TopK(sorted=True)",),
                when={"dim": -1, "largest": True},
                source="mindspore.ops.TopK: the k largest along the last dimension",
            )
        },
    ),
)


# ------------------------------------------------------------------------ sorting and integrating
def has_rows(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield call["x"].rank > 0, "a scalar has no rows to sort"


op(
    "msort",
    "x",
    infer=same_type,
    requires=has_rows,
    reference=lifted(lambda x: np.sort(x, axis=0)),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    shapes=_SHAPES,
    tags=("scan", "shape-preserving"),
    limits=no_bfloat16(_USUAL),
    torch=torch_calls("torch.msort", inplace=""),
    mindspore=mindspore_calls("ops.msort", dtypes=_SORTED),
)


def integral_type(call: OpCall) -> Dense:
    """Without the axis that is integrated over."""
    x = call["x"]
    axis = normalised_axis(call.integer("dim"), x.rank)
    return Dense(x.dtype, (*x.shape[:axis], *x.shape[axis + 1 :]))


def trapezoid(x: Array, *, dim: int, dx: float) -> object:
    """The sum of dx (x_i + x_{i-1}) / 2."""
    rows = np.moveaxis(x, dim, 0)
    return ((rows[1:] + rows[:-1]) * x.dtype.type(dx / 2)).sum(axis=0)


_scan(
    "trapz",
    attrs={"dx": (1.0, 0.5)},
    infer=integral_type,
    reference=lifted(trapezoid),
    dtypes=FLOATS,
    torch=torch_calls(
        "torch.trapezoid",
        "{x}, dx={dx}, dim={dim}",
        keyword="y={x}, dx={dx}, dim={dim}",
        method="",
        inplace="",
        function_trapz=Form(
            "torch.trapz({x}, dim={dim})",
            when={"dx": 1.0},
            source="torch.trapz: alias for torch.trapezoid, whose spacing is assumed to be 1",
        ),
        default=Form(
            "torch.trapezoid({x})",
            when={"dx": 1.0, "dim": -1},
            source="torch.trapezoid: dim=-1; the spacing is assumed to be 1",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.trapz",
        "{x}, dx={dx}, dim={dim}",
        keyword="y={x}, dx={dx}, dim={dim}",
        method="",
        default=Form(
            "ops.trapz({x})",
            when={"dx": 1.0, "dim": -1},
            source="mindspore.ops.trapz: dx=1.0, dim=-1",
        ),
    ),
)
