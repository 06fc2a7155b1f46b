"""Reductions to the greatest or the least value, its place, and the median.

Rows that answer with the place of a value have the tag "ties": it is undefined where values tie.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import FLOATS
from engine.ops.families import (
    MINDSPORE_FLOATS,
    Array,
    cpu_refuses,
    lifted,
    mindspore_calls,
    no_bfloat16,
    torch_calls,
)
from engine.ops.reductions import (
    is_single,
    is_single_dropped,
    is_whole,
    mindspore_forms,
    not_empty,
    over,
    over_axes,
    pair_type,
    place_of,
    place_of_some,
    place_type,
    reduction,
    torch_forms,
    value_and_place,
    value_and_place_type,
)
from engine.ops.spec import Form, Tolerance, op

_SHAPES = ((2, 3, 4), (5,), (2, 1, 3, 2), (), (1, 1))
_ONE: tuple[Attr, ...] = (-1, 0, 1, -2)
_KEEP: tuple[Attr, ...] = (False, True)
_USUAL = (*FLOATS, "int32", "int64")
_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")
_rule: Callable[..., object]

# --------------------------------------------------------------------------------------- extremes
for _leaf, _rule, _primitive, _word in (
    ("amax", np.max, "ReduceMax", "max"),
    ("amin", np.min, "ReduceMin", "min"),
):
    reduction(
        _leaf,
        reference=over_axes(_rule),
        requires=not_empty,
        dtypes=(*_USUAL, "int8", "uint8", "bool"),
        tolerance=Tolerance.EXACT,
        tags=("extreme",),
        torch=torch_forms(
            _leaf,
            more={
                "composed": Form(
                    f"torch.{_word}({{x}}, {{dim}}, {{keepdim}})[0]",
                    when=is_single,
                    source=f"torch.{_leaf}: same value as torch.{_word}(dim)",
                ),
                "composed_whole": Form(
                    f"torch.{_word}({{x}})", when=is_whole, source=f"torch.{_word}: of all elements"
                ),
                "function_none": Form(
                    f"torch.{_leaf}({{x}}, dim=(), keepdim={{keepdim}})",
                    when={"dim": None},
                    source=f"torch.{_leaf}: dim=() reduces all dimensions",
                ),
            },
        ),
        mindspore=mindspore_forms(
            _leaf,
            names=("axis", "keepdims"),
            method=f"{{x}}.{_leaf}(axis={{dim}}, keepdims={{keepdim}})",
            primitive=_primitive,
            primitive_dtypes=_MINDSPORE_USUAL,
            mint=True,
            more={
                "composed_whole": Form(
                    f"{{x}}.{_word}()",
                    when=is_whole,
                    source=f"mindspore.Tensor.{_word}: of all elements",
                ),
                "mint_whole": Form(
                    f"mint.{_word}({{x}})",
                    when=is_whole,
                    source=f"mindspore.mint.{_word}: of all elements",
                ),
            },
        ),
    )
    _places = {"max": np.argmax, "min": np.argmin}[_word]
    reduction(
        f"{_word}_dim",
        reference=value_and_place(_places),
        infer=value_and_place_type,
        requires=not_empty,
        dims=_ONE,
        tolerance=Tolerance.EXACT,
        tags=("extreme", "ties"),
        torch=torch_forms(_word, whole=False),
        mindspore=mindspore_forms(
            _word,
            names=("axis", "keepdims"),
            method=f"{{x}}.{_word}(dim={{dim}}, keepdim={{keepdim}})",
            mint=True,
            whole=False,
            more={
                "default_method": Form(
                    f"{{x}}.{_word}({{dim}})",
                    when=lambda call: call.attr("keepdim") is False,
                    source=f"mindspore.Tensor.{_word}(dim, keepdim=False): values and indices",
                ),
                "primitive": Form(
                    "{self}({x})",
                    setup=(
                        f"{{self}} = ops.Arg{_word.capitalize()}WithValue({{dim}}, {{keepdim}})",
                    ),
                    result="({out}[1], {out}[0].astype(ms.int64))",
                    source=f"mindspore.ops.Arg{_word.capitalize()}WithValue: index, then value",
                ),
            },
        ),
    )
    reduction(
        f"arg{_word}",
        reference=place_of(_places),
        infer=place_type,
        requires=place_of_some,
        dims=(*_ONE, None),
        tolerance=Tolerance.EXACT,
        tags=("extreme", "ties"),
        differentiable=False,
        torch=torch_forms(f"arg{_word}"),
        mindspore=mindspore_forms(
            f"arg{_word}",
            names=("dim", "keepdim") if _word == "max" else ("axis", "keepdims"),
            method=f"{{x}}.arg{_word}(axis={{dim}}, keepdims={{keepdim}})",
            # The documentation gives no dtype; argmin answers with int32.
            result="{out}.astype(ms.int64)",
            more={
                "primitive": Form(
                    "{self}({x})",
                    setup=(f"{{self}} = ops.Arg{_word}({{dim}}, ms.int64)",),
                    when=is_single_dropped,
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
        keyword="input={x}, dim={dim}, keepdim={keepdim}",
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


reduction(
    "median_dim",
    reference=value_and_place(lower_median),
    infer=value_and_place_type,
    requires=not_empty,
    dims=_ONE,
    tolerance=Tolerance.EXACT,
    tags=("ties",),
    limits=(cpu_refuses("Median", "float16"),),
    torch=torch_forms("median", whole=False),
    mindspore=mindspore_forms(
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
