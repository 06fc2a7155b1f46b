"""Reductions over axes: sums and means, extremes, truth, spread, norms.

`dim` is an axis, several axes, or None for all; `keepdim` keeps reduced axes with extent 1. Rows
that answer with the place of a value have the tag "ties": it is undefined where values tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from engine.ir.graph import Attr
from engine.ir.types import FLOATS, Dense, Tuple, Type, is_integer
from engine.ops.families import (
    MINDSPORE_FLOATS,
    Array,
    Forms,
    axes_of,
    axis_fits,
    lifted,
    mindspore_calls,
    no_bfloat16,
    reduced_shape,
    torch_calls,
)
from engine.ops.spec import Form, Limit, OpCall, Tolerance, op

_rule: Callable[..., object]

_SHAPES = ((2, 3, 4), (5,), (2, 1, 3, 2), (), (1, 1))
_SEVERAL: tuple[Attr, ...] = (-1, 0, 1, None, (0, 1), (0, -1), -2)
_ONE: tuple[Attr, ...] = (-1, 0, 1, -2)
_KEEP: tuple[Attr, ...] = (False, True)
_USUAL = (*FLOATS, "int32", "int64")
_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")


# ------------------------------------------------------------------------------------------ types
def reduced_type(call: OpCall) -> Type:
    """The operand's dtype in the reduced shape."""
    x = call["x"]
    return Dense(x.dtype, reduced_shape(x.shape, call.attr("dim"), keep=keeps(call)))


def summed_type(call: OpCall) -> Type:
    """Integers and bool add up in int64."""
    x = call["x"]
    dtype = "int64" if is_integer(x.dtype) or x.dtype == "bool" else x.dtype
    return Dense(dtype, reduced_shape(x.shape, call.attr("dim"), keep=keeps(call)))


def truth_type(call: OpCall) -> Type:
    return Dense("bool", reduced_shape(call["x"].shape, call.attr("dim"), keep=keeps(call)))


def place_type(call: OpCall) -> Type:
    return Dense("int64", reduced_shape(call["x"].shape, call.attr("dim"), keep=keeps(call)))


def value_and_place_type(call: OpCall) -> Type:
    return Tuple((reduced_type(call), place_type(call)))


def pair_type(call: OpCall) -> Type:
    return Tuple((reduced_type(call), reduced_type(call)))


def keeps(call: OpCall) -> bool:
    return bool(call.attr("keepdim"))


# ----------------------------------------------------------------------------------- requirements
def not_empty(call: OpCall) -> Iterator[tuple[bool, str]]:
    """The reduced axes hold at least one element, since there is no neutral one."""
    yield from axis_fits(call)
    yield _count(call) > 0, f"nothing to reduce in {call['x'].bounds} over {call.attr('dim')}"


def whole_without_axes(call: OpCall) -> Iterator[tuple[bool, str]]:
    """PyTorch has no `keepdim` for a reduction over everything here."""
    yield from axis_fits(call)
    yield call.attr("dim") is not None or not keeps(call), "keepdim needs an axis"


def place_of_some(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from not_empty(call)
    yield call.attr("dim") is not None or not keeps(call), "keepdim needs an axis"


def enough_for_spread(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from axis_fits(call)
    count, correction = _count(call), call.integer("correction")
    yield count > correction, f"{count} elements, expected more than the correction {correction}"


def _count(call: OpCall) -> int:
    """How many elements are reduced into one."""
    x = call["x"]
    return int(np.prod([x.bounds[at] for at in axes_of(call.attr("dim"), x.rank) if x.rank]))


# ------------------------------------------------------------------------------------- references
def over(x: Array, dim: int | tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The `axis` argument of NumPy, which refuses axis 0 of a scalar."""
    return None if dim is None or x.ndim == 0 else axes_of(dim, x.ndim)


def over_axes(function: Callable[..., object]) -> Callable[..., object]:
    """A NumPy reduction with `axis` and `keepdims`, called with `dim` and `keepdim`."""

    def reference(
        x: Array, *, dim: int | tuple[int, ...] | None, keepdim: bool, **others: Attr
    ) -> object:
        return function(x, axis=over(x, dim), keepdims=keepdim, **others)

    return lifted(reference)


def _summing(function: Callable[..., object]) -> Callable[..., object]:
    def widened(x: Array, **how: object) -> object:
        return function(x.astype(np.int64) if x.dtype.kind in "iub" else x, **how)

    return over_axes(widened)


def place_of(function: Callable[..., Array]) -> Callable[..., object]:
    """argmax and its kin. NaN wins over everything in both frameworks, as in NumPy."""

    def reference(x: Array, *, dim: int | None, keepdim: bool) -> object:
        if dim is None or x.ndim == 0:
            return np.asarray(function(x.reshape(-1), axis=0)).astype(np.int64).reshape(())
        return np.asarray(function(x, axis=dim, keepdims=keepdim)).astype(np.int64)

    return lifted(reference)


def value_and_place(
    pick: Callable[..., Array],
) -> Callable[..., object]:
    """Values and their places, where `pick(x, axis, keepdims)` finds the places."""

    def reference(x: Array, *, dim: int, keepdim: bool) -> object:
        if x.ndim == 0:
            return x.copy(), np.zeros((), np.int64)
        place = np.asarray(pick(x, axis=dim, keepdims=True)).astype(np.int64)
        value = np.take_along_axis(x, place, axis=dim)
        if not keepdim:
            value, place = np.squeeze(value, axis=dim), np.squeeze(place, axis=dim)
        return value, place

    return lifted(reference)


# ------------------------------------------------------------------------------------------ forms
_ARGS = "{x}, dim={dim}, keepdim={keepdim}"
_NAMED = "input={x}, dim={dim}, keepdim={keepdim}"


def is_whole(call: OpCall) -> bool:
    return call.attr("dim") is None and not keeps(call)


def is_single(call: OpCall) -> bool:
    return isinstance(call.attr("dim"), int)


def is_single_dropped(call: OpCall) -> bool:
    return is_single(call) and not keeps(call)


def is_given(call: OpCall) -> bool:
    return call.attr("dim") is not None


def torch_forms(leaf: str, *, whole: bool = True, more: Forms | None = None) -> Forms:
    """PyTorch: named, by place, keepdim left out, everything left out."""
    forms: dict[str, str | Form] = {
        "function": Form(f"torch.{leaf}({_ARGS})", when=is_given, api=f"torch.{leaf}"),
        "method": Form(
            "{x}." + f"{leaf}({{dim}}, {{keepdim}})",
            when=is_given,
            source=f"torch.Tensor.{leaf}: see torch.{leaf}()",
        ),
        "keyword": Form(
            f"torch.{leaf}({_NAMED})", when=is_given, source=f"torch.{leaf}: the parameters' names"
        ),
        "default_keepdim": Form(
            f"torch.{leaf}({{x}}, {{dim}})",
            when=lambda call: is_given(call) and not keeps(call),
            source=f"torch.{leaf}: keepdim=False",
        ),
    }
    if whole:
        forms["default"] = Form(
            f"torch.{leaf}({{x}})", when=is_whole, source=f"torch.{leaf}: over all dimensions"
        )
        forms["default_method"] = Form(
            f"{{x}}.{leaf}()", when=is_whole, source=f"torch.Tensor.{leaf}: over all dimensions"
        )
    return {**forms, **(more or {})}


def mindspore_forms(
    leaf: str,
    *,
    names: tuple[str, str] = ("dim", "keepdim"),
    parameter: str = "input",
    method: str = "",
    primitive: str = "",
    primitive_dtypes: tuple[str, ...] = MINDSPORE_FLOATS,
    mint: bool = False,
    dtypes: tuple[str, ...] = _MINDSPORE_USUAL,
    whole: bool = True,
    result: str | None = None,
    more: Forms | None = None,
) -> Forms:
    """MindSpore: `names` are what the function calls its axis and keepdim parameters."""
    axis, keep = names
    others: dict[str, str | Form] = {
        "keyword": Form(
            f"ops.{leaf}({parameter}={{x}}, {axis}={{dim}}, {keep}={{keepdim}})",
            source=f"mindspore.ops.{leaf}: the parameters' names",
        ),
        "default_keepdim": Form(
            f"ops.{leaf}({{x}}, {{dim}})",
            when=lambda call: not keeps(call),
            source=f"mindspore.ops.{leaf}: {keep}=False",
        ),
    }
    if whole:
        others["default"] = Form(
            f"ops.{leaf}({{x}})", when=is_whole, source=f"mindspore.ops.{leaf}: over all dimensions"
        )
    if method:
        others["method"] = Form(
            method, source=f"mindspore.Tensor.{leaf}: for details, see mindspore.ops.{leaf}()"
        )
    if primitive:
        others["primitive"] = Form(
            "{self}({x}, {dim})",
            setup=(f"{{self}} = ops.{primitive}(keep_dims={{keepdim}})",),
            when=is_given,
            dtypes=primitive_dtypes,
            source=f"mindspore.ops.{primitive}: reduces the axes, keep_dims keeps them",
        )
    if mint:
        others["mint"] = Form(
            f"mint.{leaf}({_ARGS})", when=is_given, source=f"mindspore.mint.{leaf}: same definition"
        )
        if whole:
            others["mint_default"] = Form(
                f"mint.{leaf}({{x}})", when=is_whole, source=f"mindspore.mint.{leaf}: all elements"
            )
    return mindspore_calls(
        f"ops.{leaf}",
        f"{{x}}, {axis}={{dim}}, {keep}={{keepdim}}",
        keyword="",
        method="",
        dtypes=dtypes,
        result=result,
        more={**others, **(more or {})},
    )


def reduction(
    name: str,
    *,
    reference: Callable[..., object],
    torch: Forms,
    mindspore: Forms | None,
    infer: Callable[[OpCall], Type] = reduced_type,
    requires: Callable[[OpCall], Iterator[tuple[bool, str]]] = axis_fits,
    attrs: dict[str, tuple[Attr, ...]] | None = None,
    dims: tuple[Attr, ...] = _SEVERAL,
    dtypes: tuple[str, ...] = _USUAL,
    tolerance: Tolerance = Tolerance.ACCUMULATING,
    domain: tuple[float, float] = (-2.0, 2.0),
    shapes: tuple[tuple[int, ...], ...] = _SHAPES,
    tags: tuple[str, ...] = (),
    differentiable: bool = True,
    limits: tuple[Limit, ...] = (),
) -> None:
    op(
        name,
        "x",
        attrs={"dim": dims, "keepdim": _KEEP, **(attrs or {})},
        infer=infer,
        requires=requires,
        reference=reference,
        torch=torch,
        mindspore=mindspore,
        dtypes=dtypes,
        tolerance=tolerance,
        domain=domain,
        shapes=shapes,
        tags=("reduction", *tags),
        differentiable=differentiable,
        limits=(*limits, *no_bfloat16(dtypes)),
    )


# -------------------------------------------------------------------------------- sums and means
def _none_axis(leaf: str) -> dict[str, str | Form]:
    """`dim=None` spelled out, where the function takes it."""
    return {
        "function_none": Form(
            f"torch.{leaf}({{x}}, dim=None, keepdim={{keepdim}})",
            when={"dim": None},
            source=f"torch.{leaf}: if dim is None, all dimensions are reduced",
        )
    }


reduction(
    "sum",
    reference=_summing(np.sum),
    infer=summed_type,
    dtypes=(*FLOATS, "int8", "int32", "int64", "uint8", "bool", "complex64"),
    shapes=(*_SHAPES, (0, 3), (2, 0)),
    torch=torch_forms(
        "sum",
        more={
            **_none_axis("sum"),
            "builtin": Form(
                "sum({x})",
                when=lambda call: (
                    call.attr("dim") == 0
                    and not keeps(call)
                    and call["x"].rank > 0
                    and call["x"].bounds[0] > 0
                ),
                dtypes=("float32", "float64"),
                source="torch.Tensor: iterating goes over the first dimension",
            ),
        },
    ),
    mindspore=mindspore_forms(
        "sum",
        method="{x}.sum(dim={dim}, keepdim={keepdim})",
        primitive="ReduceSum",
        mint=True,
        dtypes=(*_MINDSPORE_USUAL, "bool"),
    ),
)
reduction(
    "mean",
    reference=over_axes(np.mean),
    dtypes=(*FLOATS, "complex64"),
    requires=not_empty,
    torch=torch_forms("mean", more=_none_axis("mean")),
    mindspore=mindspore_forms(
        "mean",
        names=("axis", "keep_dims"),
        parameter="x",
        method="{x}.mean(dim={dim}, keepdim={keepdim})",
        primitive="ReduceMean",
        mint=True,
        dtypes=MINDSPORE_FLOATS,
    ),
)
reduction(
    "prod",
    reference=_summing(np.prod),
    infer=summed_type,
    dims=(-1, 0, 1, None),
    requires=whole_without_axes,
    shapes=(*_SHAPES, (0, 3)),
    torch=torch_forms("prod"),
    mindspore=mindspore_forms(
        "prod",
        names=("axis", "keep_dims"),
        method="{x}.prod(dim={dim}, keepdim={keepdim})",
        primitive="ReduceProd",
        mint=True,
    ),
)
reduction(
    "nansum",
    reference=_summing(np.nansum),
    infer=summed_type,
    torch=torch_forms("nansum", more=_none_axis("nansum")),
    mindspore=mindspore_forms(
        "nansum", names=("axis", "keepdims"), dtypes=(*MINDSPORE_FLOATS, "int64")
    ),
)
reduction(
    "nanmean",
    reference=over_axes(np.nanmean),
    dtypes=FLOATS,
    requires=not_empty,
    torch=torch_forms("nanmean", more=_none_axis("nanmean")),
    mindspore=mindspore_forms(
        "nanmean",
        names=("axis", "keepdims"),
        method="{x}.nanmean({dim}, {keepdim})",
        dtypes=MINDSPORE_FLOATS,
    ),
)


def logsumexp(x: Array, *, axis: tuple[int, ...] | None, keepdims: bool) -> object:
    if x.ndim == 0:
        return x.copy()
    if x.size == 0:  # SciPy indexes the greatest values, of which there are none
        return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))
    return special.logsumexp(x, axis=axis, keepdims=keepdims)


reduction(
    "logsumexp",
    reference=over_axes(logsumexp),
    dtypes=FLOATS,
    dims=(-1, 0, 1, (0, 1), (0, -1)),
    requires=not_empty,
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=torch_forms(
        "logsumexp",
        whole=False,
        more={
            "composed": Form(
                "torch.log(torch.sum(torch.exp({x}), {dim}, {keepdim}))",
                source="torch.logsumexp: log of summed exponentials",
            )
        },
    ),
    mindspore=mindspore_forms(
        "logsumexp",
        method="{x}.logsumexp({dim}, {keepdim})",
        dtypes=MINDSPORE_FLOATS,
        whole=False,
    ),
)
op(
    "count_nonzero",
    "x",
    attrs={"dim": _SEVERAL},
    infer=lambda call: Dense("int64", reduced_shape(call["x"].shape, call.attr("dim"), keep=False)),
    requires=axis_fits,
    reference=lambda x, *, dim: np.asarray(np.sum(x != 0, axis=over(x, dim), dtype=np.int64)),
    dtypes=(*_USUAL, "bool"),
    tolerance=Tolerance.EXACT,
    shapes=_SHAPES,
    tags=("reduction",),
    differentiable=False,
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.count_nonzero",
        "{x}, dim={dim}",
        keyword="input={x}, dim={dim}",
        inplace="",
        default=Form(
            "torch.count_nonzero({x})", when={"dim": None}, source="torch.count_nonzero: dim=None"
        ),
    ),
    mindspore={
        "function": Form(
            "ops.count_nonzero({x}, {dim}, dtype=ms.int64)",
            when=is_given,
            dtypes=_MINDSPORE_USUAL,
            api="ops.count_nonzero",
        ),
        "default": Form(
            "ops.count_nonzero({x}, dtype=ms.int64)",
            when={"dim": None},
            dtypes=_MINDSPORE_USUAL,
            source="mindspore.ops.count_nonzero: axis=() counts all elements",
        ),
        "default_dtype": Form(
            "ops.count_nonzero({x}, {dim})",
            when=is_given,
            result="{out}.astype(ms.int64)",
            dtypes=_MINDSPORE_USUAL,
            source="mindspore.ops.count_nonzero: dtype=mindspore.int32",
        ),
    },
)

# ------------------------------------------------------------------------------------------ truth
for _leaf, _rule, _primitive in (("any", np.any, "ReduceAny"), ("all", np.all, "ReduceAll")):
    reduction(
        _leaf,
        reference=over_axes(_rule),
        infer=truth_type,
        dtypes=("bool", "int32", "int64", *FLOATS),
        tolerance=Tolerance.EXACT,
        shapes=(*_SHAPES, (0, 3)),
        tags=("comparison", "bool"),
        differentiable=False,
        torch=torch_forms(_leaf, more=_none_axis(_leaf)),
        mindspore=mindspore_forms(
            _leaf,
            names=("axis", "keep_dims"),
            method=f"{{x}}.{_leaf}(axis={{dim}}, keep_dims={{keepdim}})",
            primitive=_primitive,
            primitive_dtypes=("bool",),
            mint=True,
            dtypes=("bool", "int32", "int64", *MINDSPORE_FLOATS),
        ),
    )
