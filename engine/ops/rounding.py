"""Rounding, and predicates on single numbers; exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.ir.types import FLOATS, INTEGERS, is_float
from engine.ops.elementwise import (
    function,
)
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    NUMBERS,
    Array,
    bool_type,
    cpu_refuses,
    finfo,
    lifted,
    mindspore_calls,
    no_bfloat16,
    same_type,
    torch_calls,
    unary,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_ANY = (*NUMBERS, "bool")


# -------------------------------------------------------------------------------------- rounding
def _whole(rule: Callable[[Array], object]) -> Callable[[Array], object]:
    """A rounding rule that leaves integers alone (NumPy would make them float64)."""
    return lambda x: x if x.dtype.kind in "iu" else rule(x)


for _leaf, _rule, _mint in (
    ("floor", np.floor, ("mint.floor",)),
    ("ceil", np.ceil, ("mint.ceil",)),
    ("trunc", np.trunc, ("mint.trunc",)),
):
    function(
        _leaf,
        _whole(_rule),
        infer=same_type,
        dtypes=(*FLOATS, "int32", "int64"),
        tolerance=Tolerance.EXACT,
        domain=(-3.9, 3.9),
        mint=_mint,
        torch_aliases=("torch.fix",) if _leaf == "trunc" else (),
    )
function(
    "frac",
    lambda x: x - np.trunc(x),
    infer=same_type,
    dtypes=FLOATS,
    tolerance=Tolerance.ELEMENTWISE,
    domain=(-3.9, 3.9),
    primitive=False,
    parameter="x",
    torch={"composed": Form("{x} - torch.trunc({x})", source="torch.frac: input - trunc(input)")},
    mindspore={
        "composed": Form("{x} - ops.trunc({x})", source="mindspore.ops.frac: the fractional part")
    },
)


def round_to(x: Array, *, decimals: int) -> object:
    """Round half to even at a decimal place."""
    return x if x.dtype.kind in "iu" and decimals == 0 else np.round(x, decimals)


def round_takes(call: OpCall) -> Iterator[tuple[bool, str]]:
    x, decimals = call["x"], call.integer("decimals")
    yield is_float(x.dtype) or decimals == 0, f"decimals={decimals} needs a floating tensor"


op(
    "round",
    "x",
    attrs={"decimals": (0, 1, 2, -1)},
    infer=same_type,
    requires=round_takes,
    reference=lifted(round_to),
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.ELEMENTWISE,
    domain=(-3.9, 3.9),
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "shape-preserving"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.round",
        "{x}, decimals={decimals}",
        keyword="input={x}, decimals={decimals}",
        aliases=("torch.special.round",),
        default=Form("torch.round({x})", when={"decimals": 0}, source="torch.round: decimals=0"),
    ),
    mindspore=mindspore_calls(
        "ops.round",
        "{x}, decimals={decimals}",
        keyword="input={x}, decimals={decimals}",
        primitive="",
        mint="mint.round",
        dtypes=("float16", "float32", "float64", "int32", "int64"),
        primitive_call=Form(
            "{self}({x}, {decimals})",
            setup=("{self} = ops.Round()",),
            source="mindspore.ops.Round: decimals is its second input",
        ),
        primitive_rint=Form(
            "{self}({x})",
            setup=("{self} = ops.Rint()",),
            when={"decimals": 0},
            dtypes=MINDSPORE_FLOATS,
            source="mindspore.ops.Rint: an integer that is closest to input_x",
        ),
        default=Form(
            "ops.round({x})", when={"decimals": 0}, source="mindspore.ops.round: decimals=0"
        ),
    ),
)


# ------------------------------------------------------------------------------------ predicates
def _predicate(
    leaf: str,
    reference: Callable[..., object],
    *,
    mindspore_dtypes: tuple[str, ...] = MINDSPORE_FLOATS,
    mint: str = "",
    torch: dict[str, str | Form] | None = None,
    mindspore: dict[str, str | Form] | None = None,
) -> None:
    function(
        leaf,
        reference,
        infer=bool_type,
        dtypes=_ANY,
        mindspore_dtypes=mindspore_dtypes,
        tolerance=Tolerance.EXACT,
        primitive=False,
        mint=(mint,) if mint else (),
        torch=torch,
        mindspore=mindspore,
        tags=("comparison",),
    )


_predicate(
    "isnan",
    np.isnan,
    mindspore_dtypes=(*MINDSPORE_FLOATS, "int32", "int64", "bool"),
    torch={"composed": Form("{x} != {x}", source="torch.isnan: NaN alone differs from itself")},
    mindspore={
        "composed": Form("{x} != {x}", source="mindspore.ops.isnan: NaN differs from itself"),
        "primitive": Form(
            "{self}({x})",
            setup=("{self} = ops.IsNan()",),
            source="mindspore.ops.IsNan: refer to mindspore.ops.isnan for more details",
        ),
    },
)
_predicate("isinf", np.isinf, mint="mint.isinf")
_predicate(
    "isfinite",
    np.isfinite,
    mindspore_dtypes=(*MINDSPORE_FLOATS, "int32", "int64", "bool"),
    mint="mint.isfinite",
)
_predicate("isposinf", np.isposinf)
_predicate("isneginf", np.isneginf, mint="mint.isneginf")
function(
    "logical_not",
    np.logical_not,
    infer=bool_type,
    dtypes=_ANY,
    mindspore_dtypes=("bool", "int32", "int64", "float16", "float32", "float64"),
    tolerance=Tolerance.EXACT,
    mint=("mint.logical_not",),
    torch={
        "operator": Form(
            "~{x}", dtypes=("bool",), source="torch.bitwise_not: for bool, the logical not"
        ),
        "inplace": Form(
            "{x}.clone().logical_not_()",
            dtypes=("bool",),
            source="torch.Tensor.logical_not_: in-place version of logical_not()",
        ),
        "inplace_bool": Form(
            "{x}.clone().logical_not_().bool()",
            source="torch.Tensor.logical_not_: in-place version of logical_not()",
        ),
    },
    mindspore={
        "operator": Form(
            "~{x}", dtypes=("bool",), source="mindspore.Tensor.__invert__: the logical not"
        )
    },
    tags=("comparison", "bool"),
)
unary(
    "bitwise_not",
    reference=np.invert,
    infer=same_type,
    dtypes=(*INTEGERS, "bool"),
    tolerance=Tolerance.EXACT,
    torch=torch_calls(
        "torch.bitwise_not",
        operator=Form("~{x}", source="torch.Tensor.__invert__: ~x is torch.bitwise_not(x)"),
    ),
    mindspore=mindspore_calls(
        "ops.invert",
        keyword="x={x}",
        primitive="Invert()",
        dtypes=INTEGERS,
    ),
    tags=("bitwise",),
    differentiable=False,
)


def nan_to_num(
    x: Array, *, nan: float | None, posinf: float | None, neginf: float | None
) -> object:
    """Replace NaN and infinities; None means the dtype's largest and smallest value.

    16-bit floats arrive here as they are, since the limits are those of their own dtype.
    """
    if x.dtype.kind in "iub":
        return x.copy()
    limits = finfo(x.dtype)
    wide = x.astype(np.float64)
    wide = np.where(np.isnan(wide), 0.0 if nan is None else nan, wide)
    wide = np.where(np.isposinf(wide), float(limits.max) if posinf is None else posinf, wide)
    wide = np.where(np.isneginf(wide), float(limits.min) if neginf is None else neginf, wide)
    return wide.astype(x.dtype)


op(
    "nan_to_num",
    "x",
    attrs={
        "nan": (0.0, None, -1.5),
        "posinf": (None, 10.0, 0.0),
        "neginf": (None, -10.0, 0.0),
    },
    infer=same_type,
    reference=nan_to_num,
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.EXACT,
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "shape-preserving"),
    limits=(*no_bfloat16(FLOATS), cpu_refuses("NanToNum", "float64")),
    torch=torch_calls(
        "torch.nan_to_num",
        "{x}, {nan}, {posinf}, {neginf}",
        keyword="input={x}, nan={nan}, posinf={posinf}, neginf={neginf}",
        default=Form(
            "torch.nan_to_num({x})",
            when={"nan": 0.0, "posinf": None, "neginf": None},
            source="torch.nan_to_num: nan=0.0, posinf=None, neginf=None",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.nan_to_num",
        "{x}, {nan}, {posinf}, {neginf}",
        keyword="input={x}, nan={nan}, posinf={posinf}, neginf={neginf}",
        mint="mint.nan_to_num",
        dtypes=("float16", "float32"),
        default=Form(
            "ops.nan_to_num({x})",
            when={"nan": None, "posinf": None, "neginf": None},
            source="mindspore.ops.nan_to_num: None means 0 and the dtype's limits",
        ),
    ),
)
