"""Element-wise functions of one tensor: powers and logarithms, trigonometry, rounding, predicates.

Two NumPy functions differ from both frameworks and are written out here: `sign` of NaN, and
rounding to decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from engine.ir.types import COMPLEX, FLOATS, Dense, Type
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    MINDSPORE_NUMBERS,
    NUMBERS,
    Array,
    bool_type,
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


def function(
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
function(
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
function(
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
function(
    "signbit",
    np.signbit,
    infer=bool_type,
    dtypes=_SIGNED,
    mindspore_dtypes=_MINDSPORE_SIGNED,
    tolerance=Tolerance.EXACT,
    primitive=False,
    tags=("comparison",),
)
function(
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
function(
    "reciprocal",
    lambda x: x.dtype.type(1) / x,
    domain=(0.25, 4.0),
    tolerance=Tolerance.ELEMENTWISE,
    mint=("mint.reciprocal",),
    torch={"operator": Form("1 / {x}", source="torch.reciprocal: 1 / input")},
    mindspore={
        "operator": Form("1 / {x}", source="mindspore.ops.reciprocal: out_i = 1 / x_i"),
        "function_inv": Form("ops.inv({x})", source="mindspore.ops.inv: the reciprocal"),
        "method_inv": Form(
            "{x}.inv()", source="mindspore.Tensor.inv: for details, see mindspore.ops.inv()"
        ),
        "primitive_inv": Form(
            "{self}({x})",
            setup=("{self} = ops.Inv()",),
            source="mindspore.ops.Inv: refer to mindspore.ops.inv for more details",
        ),
    },
)

# ---------------------------------------------------------------------------- powers, logarithms
function(
    "sqrt",
    np.sqrt,
    domain=(0.0, 4.0),
    mint=("mint.sqrt",),
    parameter="x",
    torch={"operator": Form("{x} ** 0.5", source="torch.sqrt: the square root")},
    mindspore={"operator": Form("{x} ** 0.5", source="mindspore.ops.sqrt: the square root")},
)
function("rsqrt", lambda x: 1 / np.sqrt(x), domain=(0.25, 4.0), mint=("mint.rsqrt",))
function("exp", np.exp, mint=("mint.exp",))
function(
    "exp2",
    np.exp2,
    primitive=False,
    method="",
    mint=("mint.exp2", "mint.special.exp2"),
    torch_aliases=("torch.special.exp2",),
)
function(
    "expm1",
    np.expm1,
    mint=("mint.expm1", "mint.special.expm1"),
    torch_aliases=("torch.special.expm1",),
)
function("log", np.log, domain=(0.1, 4.0), mint=("mint.log",))
function("log2", np.log2, domain=(0.1, 4.0), primitive=False)
function("log10", np.log10, domain=(0.1, 4.0), primitive=False)
function(
    "log1p",
    np.log1p,
    domain=(-0.5, 4.0),
    mint=("mint.log1p", "mint.special.log1p"),
    torch_aliases=("torch.special.log1p",),
)

# ---------------------------------------------------------------------------------- trigonometry
function("sin", np.sin, mint=("mint.sin",))
function("cos", np.cos, mint=("mint.cos",))
function("tan", np.tan, domain=(-1.2, 1.2), mint=("mint.tan",))
function(
    "asin",
    np.arcsin,
    domain=(-0.9, 0.9),
    mint=("mint.asin", "mint.arcsin"),
    torch_aliases=("torch.arcsin",),
    mindspore_aliases=("ops.arcsin",),
)
function(
    "acos",
    np.arccos,
    domain=(-0.9, 0.9),
    primitive=False,
    mint=("mint.acos", "mint.arccos"),
    torch_aliases=("torch.arccos",),
    mindspore_aliases=("ops.arccos",),
)
function(
    "atan",
    np.arctan,
    mint=("mint.atan", "mint.arctan"),
    torch_aliases=("torch.arctan",),
    mindspore_aliases=("ops.arctan",),
)
function("sinh", np.sinh, mint=("mint.sinh",))
function("cosh", np.cosh, mint=("mint.cosh",))
function(
    "tanh",
    np.tanh,
    mint=("mint.tanh", "mint.nn.functional.tanh"),
    torch={
        "function_functional": Form("F.tanh({x})", source="F.tanh: applies tanh element-wise"),
    },
    module="Tanh()",
    tags=("activation",),
)


def _without_derivative(leaf: str, alias: str) -> dict[str, str | Form]:
    """In-place forms of asinh, acosh and atanh, as derivatives.yaml says of these alone."""
    missing = f"the derivative for '{leaf}_' is not implemented"
    return {
        "inplace": Form(
            f"{{x}}.clone().{leaf}_()",
            dtypes=FLOATS,
            source=f"torch.Tensor.{leaf}_: in-place version of {leaf}()",
            no_gradient=missing,
        ),
        "inplace_function": Form(
            f"torch.{leaf}_({{x}}.clone())",
            dtypes=FLOATS,
            source=f"torch.{leaf}_: in-place version of torch.{leaf}()",
            no_gradient=missing,
        ),
        "inplace_alias": Form(
            f"{{x}}.clone().{alias}_()",
            dtypes=FLOATS,
            source=f"torch.Tensor.{alias}_: in-place version of {alias}()",
            no_gradient=missing,
        ),
    }


function(
    "asinh",
    np.arcsinh,
    mint=("mint.asinh", "mint.arcsinh"),
    torch_aliases=("torch.arcsinh",),
    mindspore_aliases=("ops.arcsinh",),
    inplace="",
    torch=_without_derivative("asinh", "arcsinh"),
)
function(
    "acosh",
    np.arccosh,
    domain=(1.1, 4.0),
    mint=("mint.acosh", "mint.arccosh"),
    torch_aliases=("torch.arccosh",),
    mindspore_aliases=("ops.arccosh",),
    inplace="",
    torch=_without_derivative("acosh", "arccosh"),
)
function(
    "atanh",
    np.arctanh,
    domain=(-0.9, 0.9),
    mint=("mint.atanh", "mint.arctanh"),
    torch_aliases=("torch.arctanh",),
    mindspore_aliases=("ops.arctanh",),
    inplace="",
    torch=_without_derivative("atanh", "arctanh"),
)
function("deg2rad", np.deg2rad, domain=(-180.0, 180.0), primitive=False, parameter="x")
function("rad2deg", np.rad2deg, domain=(-3.0, 3.0), primitive=False, parameter="x")
function(
    "sinc",
    np.sinc,
    mint=("mint.sinc", "mint.special.sinc"),
    torch_aliases=("torch.special.sinc",),
)

# ----------------------------------------------------------------------------- special functions
function("erf", special.erf, mint=("mint.erf",), torch_aliases=("torch.special.erf",))
function(
    "erfc",
    special.erfc,
    mint=("mint.erfc", "mint.special.erfc"),
    torch_aliases=("torch.special.erfc",),
)
function(
    "erfinv",
    special.erfinv,
    domain=(-0.9, 0.9),
    mint=("mint.erfinv",),
    torch_aliases=("torch.special.erfinv",),
    mindspore={
        "inplace": Form(
            "{x}.copy().erfinv_()",
            dtypes=MINDSPORE_FLOATS,
            source="mindspore.Tensor.erfinv_: in-place version of erfinv()",
        )
    },
)
function(
    "lgamma",
    special.gammaln,
    domain=(0.5, 4.0),
    torch_aliases=("torch.special.gammaln",),
)
function(
    "digamma",
    special.psi,
    domain=(0.5, 4.0),
    torch_aliases=("torch.special.digamma", "torch.special.psi"),
)
function(
    "i0",
    special.i0,
    primitive=False,
    torch_aliases=("torch.special.i0",),
    mindspore_aliases=("ops.bessel_i0",),
    mindspore={
        "primitive": Form(
            "{self}({x})",
            setup=("{self} = ops.BesselI0()",),
            source="mindspore.ops.BesselI0: refer to mindspore.ops.bessel_i0 for more details",
        )
    },
)
function(
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


def multivariate_log_gamma(x: Array, *, p: int) -> object:
    """log Gamma_p(x) = p (p - 1) / 4 log(pi) + the sum over i < p of log Gamma(x - i / 2)."""
    constant = p * (p - 1) / 4 * np.log(np.pi)
    return constant + sum(special.gammaln(x - i / 2) for i in range(p))


unary(
    "mvlgamma",
    reference=multivariate_log_gamma,
    infer=promoted_type,
    dtypes=FLOATS,
    attrs={"p": (2, 1, 3)},
    domain=(1.5, 4.0),
    torch=torch_calls(
        "torch.mvlgamma",
        "{x}, {p}",
        keyword="input={x}, p={p}",
        aliases=("torch.special.multigammaln",),
    ),
    mindspore=mindspore_calls(
        "ops.mvlgamma",
        "{x}, {p}",
        keyword="input={x}, p={p}",
        dtypes=("float32", "float64"),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Mvlgamma({p})",),
                source="mindspore.ops.Mvlgamma: refer to mindspore.ops.mvlgamma for more details",
            )
        },
    ),
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
        primitive_eps=Form(
            "{self}({x})",
            setup=("{self} = ops.Logit({eps})",),
            when=lambda call: call.attr("eps") is not None,
            source="mindspore.ops.Logit: refer to mindspore.ops.logit for more details",
        ),
    ),
)
