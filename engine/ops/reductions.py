"""Reductions over axes: sums and means, extremes, truth, spread, norms.

`dim` is an axis, several axes, or None for all; `keepdim` keeps reduced axes with extent 1. Rows
that answer with the place of a value have the tag "ties": it is undefined where values tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

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
    cpu_refuses,
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
    return Dense(x.dtype, reduced_shape(x.shape, call.attr("dim"), keep=_keeps(call)))


def summed_type(call: OpCall) -> Type:
    """Integers and bool add up in int64."""
    x = call["x"]
    dtype = "int64" if is_integer(x.dtype) or x.dtype == "bool" else x.dtype
    return Dense(dtype, reduced_shape(x.shape, call.attr("dim"), keep=_keeps(call)))


def truth_type(call: OpCall) -> Type:
    return Dense("bool", reduced_shape(call["x"].shape, call.attr("dim"), keep=_keeps(call)))


def place_type(call: OpCall) -> Type:
    return Dense("int64", reduced_shape(call["x"].shape, call.attr("dim"), keep=_keeps(call)))


def value_and_place_type(call: OpCall) -> Type:
    return Tuple((reduced_type(call), place_type(call)))


def pair_type(call: OpCall) -> Type:
    return Tuple((reduced_type(call), reduced_type(call)))


def _keeps(call: OpCall) -> bool:
    return bool(call.attr("keepdim"))


# ----------------------------------------------------------------------------------- requirements
def not_empty(call: OpCall) -> Iterator[tuple[bool, str]]:
    """The reduced axes hold at least one element, since there is no neutral one."""
    yield from axis_fits(call)
    yield _count(call) > 0, f"nothing to reduce in {call['x'].bounds} over {call.attr('dim')}"


def whole_without_axes(call: OpCall) -> Iterator[tuple[bool, str]]:
    """PyTorch has no `keepdim` for a reduction over everything here."""
    yield from axis_fits(call)
    yield call.attr("dim") is not None or not _keeps(call), "keepdim needs an axis"


def place_of_some(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from not_empty(call)
    yield call.attr("dim") is not None or not _keeps(call), "keepdim needs an axis"


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


def _numpy(function: Callable[..., object]) -> Callable[..., object]:
    """A NumPy reduction with `axis` and `keepdims`, called with `dim` and `keepdim`."""

    def reference(
        x: Array, *, dim: int | tuple[int, ...] | None, keepdim: bool, **others: Attr
    ) -> object:
        return function(x, axis=over(x, dim), keepdims=keepdim, **others)

    return lifted(reference)


def _summing(function: Callable[..., object]) -> Callable[..., object]:
    def widened(x: Array, **how: object) -> object:
        return function(x.astype(np.int64) if x.dtype.kind in "iub" else x, **how)

    return _numpy(widened)


def _place(function: Callable[..., Array]) -> Callable[..., object]:
    """argmax and its kin. NaN wins over everything in both frameworks, as in NumPy."""

    def reference(x: Array, *, dim: int | None, keepdim: bool) -> object:
        if dim is None or x.ndim == 0:
            return np.asarray(function(x.reshape(-1), axis=0)).astype(np.int64).reshape(())
        return np.asarray(function(x, axis=dim, keepdims=keepdim)).astype(np.int64)

    return lifted(reference)


def _value_and_place(
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


def _whole(call: OpCall) -> bool:
    return call.attr("dim") is None and not _keeps(call)


def _single(call: OpCall) -> bool:
    return isinstance(call.attr("dim"), int)


def _single_dropped(call: OpCall) -> bool:
    return _single(call) and not _keeps(call)


def _given(call: OpCall) -> bool:
    return call.attr("dim") is not None


def _torch(leaf: str, *, whole: bool = True, more: Forms | None = None) -> Forms:
    """PyTorch: named, by place, keepdim left out, everything left out."""
    forms: dict[str, str | Form] = {
        "function": Form(f"torch.{leaf}({_ARGS})", when=_given, api=f"torch.{leaf}"),
        "method": Form(
            "{x}." + f"{leaf}({{dim}}, {{keepdim}})",
            when=_given,
            source=f"torch.Tensor.{leaf}: see torch.{leaf}()",
        ),
        "keyword": Form(
            f"torch.{leaf}({_NAMED})", when=_given, source=f"torch.{leaf}: the parameters' names"
        ),
        "default_keepdim": Form(
            f"torch.{leaf}({{x}}, {{dim}})",
            when=lambda call: _given(call) and not _keeps(call),
            source=f"torch.{leaf}: keepdim=False",
        ),
    }
    if whole:
        forms["default"] = Form(
            f"torch.{leaf}({{x}})", when=_whole, source=f"torch.{leaf}: over all dimensions"
        )
        forms["default_method"] = Form(
            f"{{x}}.{leaf}()", when=_whole, source=f"torch.Tensor.{leaf}: over all dimensions"
        )
    return {**forms, **(more or {})}


def _mindspore(
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
            when=lambda call: not _keeps(call),
            source=f"mindspore.ops.{leaf}: {keep}=False",
        ),
    }
    if whole:
        others["default"] = Form(
            f"ops.{leaf}({{x}})", when=_whole, source=f"mindspore.ops.{leaf}: over all dimensions"
        )
    if method:
        others["method"] = Form(
            method, source=f"mindspore.Tensor.{leaf}: for details, see mindspore.ops.{leaf}()"
        )
    if primitive:
        others["primitive"] = Form(
            "{self}({x}, {dim})",
            setup=(f"{{self}} = ops.{primitive}(keep_dims={{keepdim}})",),
            when=_given,
            dtypes=primitive_dtypes,
            source=f"mindspore.ops.{primitive}: reduces the axes, keep_dims keeps them",
        )
    if mint:
        others["mint"] = Form(
            f"mint.{leaf}({_ARGS})", when=_given, source=f"mindspore.mint.{leaf}: same definition"
        )
        if whole:
            others["mint_default"] = Form(
                f"mint.{leaf}({{x}})", when=_whole, source=f"mindspore.mint.{leaf}: all elements"
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


def _reduction(
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


_reduction(
    "sum",
    reference=_summing(np.sum),
    infer=summed_type,
    dtypes=(*FLOATS, "int8", "int32", "int64", "uint8", "bool", "complex64"),
    shapes=(*_SHAPES, (0, 3), (2, 0)),
    torch=_torch(
        "sum",
        more={
            **_none_axis("sum"),
            "builtin": Form(
                "sum({x})",
                when=lambda call: (
                    call.attr("dim") == 0
                    and not _keeps(call)
                    and call["x"].rank > 0
                    and call["x"].bounds[0] > 0
                ),
                dtypes=("float32", "float64"),
                source="torch.Tensor: iterating goes over the first dimension",
            ),
        },
    ),
    mindspore=_mindspore(
        "sum",
        method="{x}.sum(dim={dim}, keepdim={keepdim})",
        primitive="ReduceSum",
        mint=True,
        dtypes=(*_MINDSPORE_USUAL, "bool"),
    ),
)
_reduction(
    "mean",
    reference=_numpy(np.mean),
    dtypes=(*FLOATS, "complex64"),
    requires=not_empty,
    torch=_torch("mean", more=_none_axis("mean")),
    mindspore=_mindspore(
        "mean",
        names=("axis", "keep_dims"),
        parameter="x",
        method="{x}.mean(dim={dim}, keepdim={keepdim})",
        primitive="ReduceMean",
        mint=True,
        dtypes=MINDSPORE_FLOATS,
    ),
)
_reduction(
    "prod",
    reference=_summing(np.prod),
    infer=summed_type,
    dims=(-1, 0, 1, None),
    requires=whole_without_axes,
    shapes=(*_SHAPES, (0, 3)),
    torch=_torch("prod"),
    mindspore=_mindspore(
        "prod",
        names=("axis", "keep_dims"),
        method="{x}.prod(dim={dim}, keepdim={keepdim})",
        primitive="ReduceProd",
        mint=True,
    ),
)
_reduction(
    "nansum",
    reference=_summing(np.nansum),
    infer=summed_type,
    torch=_torch("nansum", more=_none_axis("nansum")),
    mindspore=_mindspore("nansum", names=("axis", "keepdims"), dtypes=(*MINDSPORE_FLOATS, "int64")),
)
_reduction(
    "nanmean",
    reference=_numpy(np.nanmean),
    dtypes=FLOATS,
    requires=not_empty,
    torch=_torch("nanmean", more=_none_axis("nanmean")),
    mindspore=_mindspore("nanmean", names=("axis", "keepdims"), dtypes=MINDSPORE_FLOATS),
)


def logsumexp(x: Array, *, axis: tuple[int, ...] | None, keepdims: bool) -> object:
    if x.ndim == 0:
        return x.copy()
    if x.size == 0:  # SciPy indexes the greatest values, of which there are none
        return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))
    return special.logsumexp(x, axis=axis, keepdims=keepdims)


_reduction(
    "logsumexp",
    reference=_numpy(logsumexp),
    dtypes=FLOATS,
    dims=(-1, 0, 1, (0, 1), (0, -1)),
    requires=not_empty,
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=_torch(
        "logsumexp",
        whole=False,
        more={
            "composed": Form(
                "torch.log(torch.sum(torch.exp({x}), {dim}, {keepdim}))",
                source="torch.logsumexp: log of summed exponentials",
            )
        },
    ),
    mindspore=_mindspore(
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
            when=_given,
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
            when=_given,
            result="{out}.astype(ms.int64)",
            dtypes=_MINDSPORE_USUAL,
            source="mindspore.ops.count_nonzero: dtype=mindspore.int32",
        ),
    },
)

# ------------------------------------------------------------------------------------------ truth
for _leaf, _rule, _primitive in (("any", np.any, "ReduceAny"), ("all", np.all, "ReduceAll")):
    _reduction(
        _leaf,
        reference=_numpy(_rule),
        infer=truth_type,
        dtypes=("bool", "int32", "int64", *FLOATS),
        tolerance=Tolerance.EXACT,
        shapes=(*_SHAPES, (0, 3)),
        tags=("comparison", "bool"),
        differentiable=False,
        torch=_torch(_leaf, more=_none_axis(_leaf)),
        mindspore=_mindspore(
            _leaf,
            names=("axis", "keep_dims"),
            method=f"{{x}}.{_leaf}(axis={{dim}}, keep_dims={{keepdim}})",
            primitive=_primitive,
            primitive_dtypes=("bool",),
            mint=True,
            dtypes=("bool", "int32", "int64", *MINDSPORE_FLOATS),
        ),
    )

# --------------------------------------------------------------------------------------- extremes
for _leaf, _rule, _primitive, _word in (
    ("amax", np.max, "ReduceMax", "max"),
    ("amin", np.min, "ReduceMin", "min"),
):
    _reduction(
        _leaf,
        reference=_numpy(_rule),
        requires=not_empty,
        dtypes=(*_USUAL, "int8", "uint8", "bool"),
        tolerance=Tolerance.EXACT,
        tags=("extreme",),
        torch=_torch(
            _leaf,
            more={
                "composed": Form(
                    f"torch.{_word}({{x}}, {{dim}}, {{keepdim}})[0]",
                    when=_single,
                    source=f"torch.{_leaf}: same value as torch.{_word}(dim)",
                ),
                "composed_whole": Form(
                    f"torch.{_word}({{x}})", when=_whole, source=f"torch.{_word}: of all elements"
                ),
                "function_none": Form(
                    f"torch.{_leaf}({{x}}, dim=(), keepdim={{keepdim}})",
                    when={"dim": None},
                    source=f"torch.{_leaf}: dim=() reduces all dimensions",
                ),
            },
        ),
        mindspore=_mindspore(
            _leaf,
            names=("axis", "keepdims"),
            method=f"{{x}}.{_leaf}(axis={{dim}}, keepdims={{keepdim}})",
            primitive=_primitive,
            primitive_dtypes=_MINDSPORE_USUAL,
            mint=True,
            more={
                "composed_whole": Form(
                    f"{{x}}.{_word}()",
                    when=_whole,
                    source=f"mindspore.Tensor.{_word}: of all elements",
                ),
                "mint_whole": Form(
                    f"mint.{_word}({{x}})",
                    when=_whole,
                    source=f"mindspore.mint.{_word}: of all elements",
                ),
            },
        ),
    )
    _places = {"max": np.argmax, "min": np.argmin}[_word]
    _reduction(
        f"{_word}_dim",
        reference=_value_and_place(_places),
        infer=value_and_place_type,
        requires=not_empty,
        dims=_ONE,
        tolerance=Tolerance.EXACT,
        tags=("extreme", "ties"),
        torch=_torch(_word, whole=False),
        mindspore=_mindspore(
            _word,
            names=("axis", "keepdims"),
            method=f"{{x}}.{_word}(dim={{dim}}, keepdim={{keepdim}})",
            mint=True,
            whole=False,
            more={
                "primitive": Form(
                    "{self}({x})",
                    setup=(
                        f"{{self}} = ops.Arg{_word.capitalize()}WithValue({{dim}}, {{keepdim}})",
                    ),
                    result="({out}[1], {out}[0].astype(ms.int64))",
                    source=f"mindspore.ops.Arg{_word.capitalize()}WithValue: index, then value",
                )
            },
        ),
    )
    _reduction(
        f"arg{_word}",
        reference=_place(_places),
        infer=place_type,
        requires=place_of_some,
        dims=(*_ONE, None),
        tolerance=Tolerance.EXACT,
        tags=("extreme", "ties"),
        differentiable=False,
        torch=_torch(f"arg{_word}"),
        mindspore=_mindspore(
            f"arg{_word}",
            names=("dim", "keepdim") if _word == "max" else ("axis", "keepdims"),
            # The documentation gives no dtype; argmin answers with int32.
            result="{out}.astype(ms.int64)",
            more={
                "primitive": Form(
                    "{self}({x})",
                    setup=(f"{{self}} = ops.Arg{_word}({{dim}}, ms.int64)",),
                    when=_single_dropped,
                    source=f"mindspore.ops.Arg{_word}(axis, output_type)",
                ),
            },
        ),
    )
op(
    "aminmax",
    "x",
    attrs={"dim": _ONE, "keepdim": _KEEP},
    infer=pair_type,
    requires=not_empty,
    reference=lifted(
        lambda x, *, dim, keepdim: (
            np.min(x, axis=over(x, dim), keepdims=keepdim),
            np.max(x, axis=over(x, dim), keepdims=keepdim),
        )
    ),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    shapes=_SHAPES,
    tags=("reduction", "extreme"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.aminmax",
        "{x}, dim={dim}, keepdim={keepdim}",
        keyword=_NAMED,
        inplace="",
        composed=Form(
            "(torch.amin({x}, {dim}, {keepdim}), torch.amax({x}, {dim}, {keepdim}))",
            source="torch.aminmax: the minimum and the maximum",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.aminmax",
        "{x}, axis={dim}, keepdims={keepdim}",
        keyword="input={x}, axis={dim}, keepdims={keepdim}",
        dtypes=_MINDSPORE_USUAL,
        default=Form(
            "ops.aminmax({x})",
            when={"dim": 0, "keepdim": False},
            source="mindspore.ops.aminmax: axis=0, keepdims=False",
        ),
    ),
)


def lower_median(x: Array, *, axis: int, keepdims: bool) -> Array:
    """The place of the lower of the two middle values; that of the first NaN where there is one."""
    order = np.argsort(x, axis=axis, kind="stable")
    middle = np.take(order, [(x.shape[axis] - 1) // 2], axis=axis)
    if x.dtype.kind == "f":
        broken = np.isnan(x)
        first = np.expand_dims(np.argmax(broken, axis=axis), axis)
        return np.where(np.any(broken, axis=axis, keepdims=True), first, middle)
    return middle


_reduction(
    "median_dim",
    reference=_value_and_place(lower_median),
    infer=value_and_place_type,
    requires=not_empty,
    dims=_ONE,
    tolerance=Tolerance.EXACT,
    tags=("ties",),
    limits=(cpu_refuses("Median", "float16"),),
    torch=_torch("median", whole=False),
    mindspore=_mindspore(
        "median",
        names=("axis", "keepdims"),
        whole=False,
        dtypes=("float32", "float64", "int32", "int64"),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Median(False, {dim}, {keepdim})",),
                source="mindspore.ops.Median: global_median=False, axis, keep_dims",
            )
        },
    ),
)

# ----------------------------------------------------------------------------------------- spread
_CORRECTION: dict[str, tuple[Attr, ...]] = {"correction": (1, 0, 2)}


def _spread(leaf: str) -> Forms:
    """Forms of var and std: `correction` or `unbiased`, by name or left out."""
    named = "dim={dim}, correction={correction}, keepdim={keepdim}"
    return {
        "function": Form(f"torch.{leaf}({{x}}, {named})", api=f"torch.{leaf}"),
        "method": Form(f"{{x}}.{leaf}({named})", source=f"torch.Tensor.{leaf}: see torch.{leaf}()")
        if "_" not in leaf
        else Form(f"torch.{leaf}(input={{x}}, {named})", source=f"torch.{leaf}: names"),
        "keyword_unbiased": Form(
            f"torch.{leaf}({{x}}, dim={{dim}}, unbiased=True, keepdim={{keepdim}})",
            when=lambda call: call.attr("correction") == 1 and _given(call),
            source=f"torch.{leaf}: unbiased=True is correction=1",
        ),
        "keyword_biased": Form(
            f"torch.{leaf}({{x}}, dim={{dim}}, unbiased=False, keepdim={{keepdim}})",
            when=lambda call: call.attr("correction") == 0 and _given(call),
            source=f"torch.{leaf}: unbiased=False is correction=0",
        ),
        "default": Form(
            f"torch.{leaf}({{x}}, {{dim}}, keepdim={{keepdim}})",
            when=lambda call: call.attr("correction") == 1 and _given(call),
            source=f"torch.{leaf}: correction=1",
        ),
        "default_whole": Form(
            f"torch.{leaf}({{x}})",
            when=lambda call: call.attr("correction") == 1 and _whole(call),
            source=f"torch.{leaf}: over all dimensions with correction=1",
        ),
    }


def _mindspore_spread(leaf: str) -> Forms:
    named = "axis={dim}, ddof={correction}, keepdims={keepdim}"
    return mindspore_calls(
        f"ops.{leaf}",
        f"{{x}}, {named}",
        keyword=f"input={{x}}, {named}",
        method="",
        default=Form(
            f"ops.{leaf}({{x}}, {{dim}}, keepdims={{keepdim}})",
            when={"correction": 0},
            source=f"mindspore.ops.{leaf}: ddof=0",
        ),
        default_whole=Form(
            f"ops.{leaf}({{x}})",
            when=lambda call: call.attr("correction") == 0 and _whole(call),
            source=f"mindspore.ops.{leaf}: over all elements with ddof=0",
        ),
    )


for _leaf, _rule in (("var", np.var), ("std", np.std)):
    _reduction(
        _leaf,
        reference=_numpy(
            lambda x, *, axis, keepdims, correction, rule=_rule: rule(
                x, axis=axis, keepdims=keepdims, ddof=correction
            )
        ),
        attrs=_CORRECTION,
        requires=enough_for_spread,
        dtypes=FLOATS,
        shapes=((2, 3, 4), (5,), (2, 1, 3, 2)),
        torch=_spread(_leaf),
        mindspore=_mindspore_spread(_leaf),
    )
    _reduction(
        f"{_leaf}_mean",
        reference=_numpy(
            lambda x, *, axis, keepdims, correction, rule=_rule: (
                rule(x, axis=axis, keepdims=keepdims, ddof=correction),
                np.mean(x, axis=axis, keepdims=keepdims),
            )
        ),
        infer=pair_type,
        attrs=_CORRECTION,
        requires=enough_for_spread,
        dtypes=FLOATS,
        shapes=((2, 3, 4), (5,), (2, 1, 3, 2)),
        torch=_spread(f"{_leaf}_mean"),
        mindspore=_mindspore_spread(f"{_leaf}_mean"),
    )


# ------------------------------------------------------------------------------------------ norms
def vector_norm(
    x: Array,
    *,
    axis: tuple[int, ...] | None,
    keepdims: bool,
    ord: float,  # noqa: A002
) -> object:
    """The p-norm of the magnitudes over the axes."""
    size = np.abs(x)
    if ord == float("inf"):
        return np.max(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdims).astype(x.dtype)
    total = np.sum(size ** x.dtype.type(ord), axis=axis, keepdims=keepdims)
    return total ** x.dtype.type(1.0 / ord)


_reduction(
    "vector_norm",
    reference=_numpy(vector_norm),
    attrs={"ord": (2, 1, 3, float("inf"), 0.5, 0)},
    requires=not_empty,
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
    torch={
        "function": Form(
            "torch.linalg.vector_norm({x}, {ord}, dim={dim}, keepdim={keepdim})",
            api="torch.linalg.vector_norm",
        ),
        "function_norm": Form(
            "torch.norm({x}, {ord}, dim={dim}, keepdim={keepdim})",
            when=_given,
            source="torch.norm: the vector norm where p is a number and dim is given",
        ),
        "method": Form(
            "{x}.norm({ord}, {dim}, {keepdim})",
            when=_given,
            source="torch.Tensor.norm: see torch.norm()",
        ),
        "default": Form(
            "torch.linalg.vector_norm({x}, dim={dim}, keepdim={keepdim})",
            when={"ord": 2},
            source="torch.linalg.vector_norm: ord=2",
        ),
        "function_linalg_norm": Form(
            "torch.linalg.norm({x}, {ord}, {dim}, {keepdim})",
            when=_single,
            source="torch.linalg.norm: the vector norm where dim is an int",
        ),
    },
    mindspore={
        name: replace(one, dtypes=one.dtypes or MINDSPORE_FLOATS)
        for name, one in {
            "function": Form(
                "ops.vector_norm({x}, {ord}, axis={dim}, keepdims={keepdim})",
                api="ops.vector_norm",
            ),
            "function_norm": Form(
                "ops.norm({x}, {ord}, dim={dim}, keepdim={keepdim})",
                when=_single,
                dtypes=("float16", "float32"),
                source="mindspore.ops.norm: the vector norm where dim is an int",
            ),
            "method": Form(
                "{x}.norm({ord}, {dim}, {keepdim})",
                when=_single,
                dtypes=("float16", "float32"),
                source="mindspore.Tensor.norm: for details, see mindspore.ops.norm()",
            ),
            "default": Form(
                "ops.vector_norm({x}, axis={dim}, keepdims={keepdim})",
                when={"ord": 2},
                source="mindspore.ops.vector_norm: ord=2",
            ),
        }.items()
    },
)
