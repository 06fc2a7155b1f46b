"""Element-wise functions of one tensor: powers and logarithms, trigonometry, rounding, predicates.

Two NumPy functions differ from both frameworks and are written out here: `sign` of NaN, and
rounding to decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import special

from engine.ir.types import COMPLEX, FLOATS, INTEGERS, Dense, Type, is_float
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    MINDSPORE_NUMBERS,
    NUMBERS,
    Array,
    bool_type,
    cpu_refuses,
    finfo,
    lifted,
    mindspore_calls,
    no_bfloat16,
    promoted_type,
    same_type,
    torch_calls,
    unary,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_PROMOTED = (*FLOATS, "int32", "int64", "uint8", "bool")
_ANY = (*NUMBERS, "bool")
_SIGNED = (*FLOATS, "int8", "int16", "int32", "int64")
_MINDSPORE_SIGNED = (*MINDSPORE_FLOATS, "int8", "int16", "int32", "int64")


def _function(
    leaf: str,
    reference: Callable[..., object],
    *,
    domain: tuple[float, float] = (-2.0, 2.0),
    dtypes: tuple[str, ...] = _PROMOTED,
    mindspore_dtypes: tuple[str, ...] = MINDSPORE_FLOATS,
    infer: Callable[[OpCall], Type] = promoted_type,
    tolerance: Tolerance = Tolerance.TRANSCENDENTAL,
    primitive: bool = True,
    mint: Sequence[str] = (),
    parameter: str = "input",
    method: str = "auto",
    inplace: str = "auto",
    module: str = "",
    torch_aliases: Sequence[str] = (),
    mindspore_aliases: Sequence[str] = (),
    torch: dict[str, str | Form] | None = None,
    mindspore: dict[str, str | Form] | None = None,
    tags: Sequence[str] = (),
    differentiable: bool = True,
) -> None:
    """A function that both frameworks call by the same name, in all its spellings."""
    camel = "".join(word.capitalize() for word in leaf.split("_"))
    floats_only = tuple(one for one in dtypes if one in FLOATS)
    unary(
        leaf,
        reference=reference,
        infer=infer,
        dtypes=dtypes,
        tolerance=tolerance,
        domain=domain,
        torch=torch_calls(
            f"torch.{leaf}",
            inplace="" if infer is bool_type else inplace,
            inplace_dtypes=floats_only if infer is promoted_type else None,
            module=f"nn.{module}" if module else "",
            aliases=torch_aliases,
            more=torch,
        ),
        mindspore=mindspore_calls(
            f"ops.{leaf}",
            keyword=f"{parameter}={{x}}",
            method=method,
            primitive=f"{camel}()" if primitive else "",
            aliases=mindspore_aliases,
            dtypes=mindspore_dtypes,
            mint=mint,
            module=module,
            more=mindspore,
        ),
        tags=tags,
        differentiable=differentiable,
    )


# --------------------------------------------------------------------------- sign and magnitude
def absolute_type(call: OpCall) -> Type:
    """Like the operand; the magnitude of a complex number is real."""
    x = call["x"]
    return Dense("float32" if x.dtype == "complex64" else x.dtype, x.shape)


def sign(x: Array) -> object:
    """-1, 0 or 1; NaN has no sign and gives 0 in PyTorch."""
    return ((x > 0).astype(np.int8) - (x < 0).astype(np.int8)).astype(x.dtype)


op(
    "abs",
    "x",
    infer=absolute_type,
    reference=lifted(np.abs),
    dtypes=(*NUMBERS, *COMPLEX),
    tolerance=Tolerance.ELEMENTWISE,
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "shape-preserving"),
    limits=no_bfloat16(NUMBERS),
    torch=torch_calls(
        "torch.abs",
        inplace_dtypes=NUMBERS,
        aliases=("torch.absolute",),
        builtin=Form("abs({x})", source="torch.Tensor.__abs__: abs(x) is torch.abs(x)"),
    ),
    mindspore=mindspore_calls(
        "ops.abs",
        primitive="Abs()",
        mint="mint.abs",
        aliases=("ops.absolute",),
        dtypes=MINDSPORE_NUMBERS,
        builtin=Form("abs({x})", source="mindspore.Tensor.__abs__: abs(x) is mindspore.ops.abs(x)"),
    ),
)
_function(
    "neg",
    np.negative,
    infer=same_type,
    dtypes=(*_SIGNED, *COMPLEX),
    mindspore_dtypes=_MINDSPORE_SIGNED,
    tolerance=Tolerance.EXACT,
    mint=("mint.neg", "mint.negative"),
    torch_aliases=("torch.negative",),
    mindspore_aliases=("ops.negative",),
    torch={"operator": Form("-{x}", source="torch.Tensor.__neg__: -x is torch.neg(x)")},
    mindspore={
        "operator": Form("-{x}", source="mindspore.Tensor.__neg__: see mindspore.ops.neg()")
    },
)
_function(
    "sign",
    sign,
    infer=same_type,
    dtypes=_SIGNED,
    mindspore_dtypes=("float16", "float32", "float64", "int32", "int64"),
    tolerance=Tolerance.EXACT,
    mint=("mint.sign",),
    torch_aliases=("torch.sgn",),
    mindspore_aliases=("ops.sgn",),
    torch={
        "inplace_sgn": Form("{x}.clone().sgn_()", source="torch.sgn: torch.sign() for real input")
    },
)
_function(
    "signbit",
    np.signbit,
    infer=bool_type,
    dtypes=_SIGNED,
    mindspore_dtypes=_MINDSPORE_SIGNED,
    tolerance=Tolerance.EXACT,
    primitive=False,
    tags=("comparison",),
)
_function(
    "square",
    np.square,
    infer=same_type,
    dtypes=(*NUMBERS, *COMPLEX),
    mindspore_dtypes=("float16", "float32", "float64", "int32", "int64"),
    tolerance=Tolerance.ELEMENTWISE,
    mint=("mint.square",),
    torch={
        "operator": Form("{x} ** 2", source="torch.square: equal to torch.pow(input, 2)"),
        "composed": Form("{x} * {x}", source="torch.square: the square of the elements"),
    },
    mindspore={
        "operator": Form("{x} ** 2", source="mindspore.ops.square: the elements squared"),
        "composed": Form("{x} * {x}", source="mindspore.ops.square: y_i = x_i^2"),
    },
)
_function(
    "reciprocal",
    lambda x: x.dtype.type(1) / x,
    domain=(0.25, 4.0),
    tolerance=Tolerance.ELEMENTWISE,
    mint=("mint.reciprocal",),
    torch={"operator": Form("1 / {x}", source="torch.reciprocal: 1 / input")},
    mindspore={"operator": Form("1 / {x}", source="mindspore.ops.reciprocal: out_i = 1 / x_i")},
)

# ---------------------------------------------------------------------------- powers, logarithms
_function(
    "sqrt",
    np.sqrt,
    domain=(0.0, 4.0),
    mint=("mint.sqrt",),
    parameter="x",
    torch={"operator": Form("{x} ** 0.5", source="torch.sqrt: the square root")},
    mindspore={"operator": Form("{x} ** 0.5", source="mindspore.ops.sqrt: the square root")},
)
_function("rsqrt", lambda x: 1 / np.sqrt(x), domain=(0.25, 4.0), mint=("mint.rsqrt",))
_function("exp", np.exp, mint=("mint.exp",))
_function(
    "exp2",
    np.exp2,
    primitive=False,
    method="",
    mint=("mint.exp2", "mint.special.exp2"),
    torch_aliases=("torch.special.exp2",),
)
_function(
    "expm1",
    np.expm1,
    mint=("mint.expm1", "mint.special.expm1"),
    torch_aliases=("torch.special.expm1",),
)
_function("log", np.log, domain=(0.1, 4.0), mint=("mint.log",))
_function("log2", np.log2, domain=(0.1, 4.0), primitive=False)
_function("log10", np.log10, domain=(0.1, 4.0), primitive=False)
_function(
    "log1p",
    np.log1p,
    domain=(-0.5, 4.0),
    mint=("mint.log1p", "mint.special.log1p"),
    torch_aliases=("torch.special.log1p",),
)

# ---------------------------------------------------------------------------------- trigonometry
_function("sin", np.sin, mint=("mint.sin",))
_function("cos", np.cos, mint=("mint.cos",))
_function("tan", np.tan, domain=(-1.2, 1.2), mint=("mint.tan",))
_function(
    "asin",
    np.arcsin,
    domain=(-0.9, 0.9),
    mint=("mint.asin", "mint.arcsin"),
    torch_aliases=("torch.arcsin",),
    mindspore_aliases=("ops.arcsin",),
)
_function(
    "acos",
    np.arccos,
    domain=(-0.9, 0.9),
    primitive=False,
    mint=("mint.acos", "mint.arccos"),
    torch_aliases=("torch.arccos",),
    mindspore_aliases=("ops.arccos",),
)
_function(
    "atan",
    np.arctan,
    mint=("mint.atan", "mint.arctan"),
    torch_aliases=("torch.arctan",),
    mindspore_aliases=("ops.arctan",),
)
_function("sinh", np.sinh, mint=("mint.sinh",))
_function("cosh", np.cosh, mint=("mint.cosh",))
_function(
    "tanh",
    np.tanh,
    mint=("mint.tanh", "mint.nn.functional.tanh"),
    torch={
        "function_functional": Form("F.tanh({x})", source="F.tanh: applies tanh element-wise"),
    },
    module="Tanh()",
    tags=("activation",),
)
_function(
    "asinh",
    np.arcsinh,
    mint=("mint.asinh", "mint.arcsinh"),
    torch_aliases=("torch.arcsinh",),
    mindspore_aliases=("ops.arcsinh",),
)
_function(
    "acosh",
    np.arccosh,
    domain=(1.1, 4.0),
    mint=("mint.acosh", "mint.arccosh"),
    torch_aliases=("torch.arccosh",),
    mindspore_aliases=("ops.arccosh",),
)
_function(
    "atanh",
    np.arctanh,
    domain=(-0.9, 0.9),
    mint=("mint.atanh", "mint.arctanh"),
    torch_aliases=("torch.arctanh",),
    mindspore_aliases=("ops.arctanh",),
)
_function("deg2rad", np.deg2rad, domain=(-180.0, 180.0), primitive=False, parameter="x")
_function("rad2deg", np.rad2deg, domain=(-3.0, 3.0), primitive=False, parameter="x")
_function(
    "sinc",
    np.sinc,
    mint=("mint.sinc", "mint.special.sinc"),
    torch_aliases=("torch.special.sinc",),
)

# ----------------------------------------------------------------------------- special functions
_function("erf", special.erf, mint=("mint.erf",), torch_aliases=("torch.special.erf",))
_function(
    "erfc",
    special.erfc,
    mint=("mint.erfc", "mint.special.erfc"),
    torch_aliases=("torch.special.erfc",),
)
_function(
    "erfinv",
    special.erfinv,
    domain=(-0.9, 0.9),
    mint=("mint.erfinv",),
    torch_aliases=("torch.special.erfinv",),
)
_function(
    "lgamma",
    special.gammaln,
    domain=(0.5, 4.0),
    torch_aliases=("torch.special.gammaln",),
)
_function(
    "digamma",
    special.psi,
    domain=(0.5, 4.0),
    torch_aliases=("torch.special.digamma", "torch.special.psi"),
)
_function("i0", special.i0, primitive=False, torch_aliases=("torch.special.i0",))
_function(
    "sigmoid",
    special.expit,
    mint=("mint.sigmoid", "mint.nn.functional.sigmoid"),
    torch_aliases=("torch.special.expit",),
    torch={
        "function_functional": Form("F.sigmoid({x})", source="F.sigmoid: see torch.nn.Sigmoid"),
    },
    module="Sigmoid()",
    tags=("activation",),
)


def logit(x: Array, *, eps: float | None) -> object:
    """log(x / (1 - x)), the operand held in [eps, 1 - eps] where eps is given."""
    z = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(z / (1 - z))


unary(
    "logit",
    reference=logit,
    infer=promoted_type,
    dtypes=FLOATS,
    attrs={"eps": (None, 1e-6, 0.1)},
    domain=(0.05, 0.95),
    torch=torch_calls(
        "torch.logit",
        "{x}, {eps}",
        keyword="input={x}, eps={eps}",
        aliases=("torch.special.logit",),
        default=Form("torch.logit({x})", when={"eps": None}, source="torch.logit: eps=None"),
    ),
    mindspore=mindspore_calls(
        "ops.logit",
        "{x}, {eps}",
        keyword="input={x}, eps={eps}",
        default=Form("ops.logit({x})", when={"eps": None}, source="mindspore.ops.logit: eps=None"),
    ),
)


# -------------------------------------------------------------------------------------- rounding
def _whole(rule: Callable[[Array], object]) -> Callable[[Array], object]:
    """A rounding rule that leaves integers alone (NumPy would make them float64)."""
    return lambda x: x if x.dtype.kind in "iu" else rule(x)


for _leaf, _rule, _mint in (
    ("floor", np.floor, ("mint.floor",)),
    ("ceil", np.ceil, ("mint.ceil",)),
    ("trunc", np.trunc, ("mint.trunc",)),
):
    _function(
        _leaf,
        _whole(_rule),
        infer=same_type,
        dtypes=(*FLOATS, "int32", "int64"),
        tolerance=Tolerance.EXACT,
        domain=(-3.9, 3.9),
        mint=_mint,
        torch_aliases=("torch.fix",) if _leaf == "trunc" else (),
        differentiable=False,
    )
_function(
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
    differentiable=False,
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
    _function(
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
        "composed": Form("{x} != {x}", source="mindspore.ops.isnan: NaN differs from itself")
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
_function(
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
        )
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
