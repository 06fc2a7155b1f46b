"""Element-wise arithmetic of two or three tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from engine.ir.graph import Attr
from engine.ir.types import COMPLEX, FLOATS, Dense, Type, is_float
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    MINDSPORE_NUMBERS,
    NUMBERS,
    Array,
    Forms,
    binary,
    broadcast_shape,
    broadcast_type,
    broadcastable,
    companion,
    cpu_refuses,
    lifted,
    mindspore_calls,
    no_bfloat16,
    promoted_broadcast_type,
    torch_calls,
)
from engine.ops.spec import Form, Limit, OpCall, Tolerance, op

_NUMERIC = (*NUMBERS, *COMPLEX)
_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")
_XY = "input={x}, other={y}"


def _operator(symbol: str, torch_name: str) -> tuple[Form, Form]:
    """The two frameworks' operator syntax."""
    text = f"{{x}} {symbol} {{y}}"
    return (
        Form(text, source=f"torch.Tensor: x {symbol} y is torch.{torch_name}(x, y)"),
        Form(text, source=f"mindspore.Tensor: x {symbol} y is mindspore.ops.{torch_name}(x, y)"),
    )


def _inplace_needs_room(form: Form) -> Form:
    """An in-place form: the result must have the shape of the receiver."""

    def holds(call: OpCall) -> bool:
        x = call["x"]
        others = [one.shape for one in call.types.values() if isinstance(one, Dense)]
        return broadcast_shape(others) == x.shape

    return Form(form.call, when=holds, dtypes=form.dtypes, source=form.source)


def _torch(
    leaf: str,
    args: str = "{x}, {y}",
    *,
    keyword: str = _XY,
    inplace_dtypes: tuple[str, ...] | None = None,
    more: Forms | None = None,
    **others: Form,
) -> Forms:
    """The usual PyTorch forms of a function of two tensors."""
    rest = args.partition(", ")[2]
    inplace = Form(
        f"{{x}}.clone().{leaf}_({rest})",
        dtypes=inplace_dtypes,
        source=f"torch.Tensor.{leaf}_: in-place version of {leaf}()",
    )
    return torch_calls(
        f"torch.{leaf}",
        args,
        keyword=keyword,
        inplace="",
        more={"inplace": _inplace_needs_room(inplace), **(more or {}), **others},
    )


def _mindspore(
    leaf: str,
    args: str = "{x}, {y}",
    *,
    keyword: str = _XY,
    primitive: str = "",
    mint: str = "",
    dtypes: tuple[str, ...] = _MINDSPORE_USUAL,
    aliases: tuple[str, ...] = (),
    method: str = "auto",
    **others: Form,
) -> Forms:
    return mindspore_calls(
        f"ops.{leaf}",
        args,
        keyword=keyword,
        primitive=primitive,
        mint=mint,
        dtypes=dtypes,
        aliases=aliases,
        method=method,
        more=others,
    )


_rule: Callable[..., object]

# ------------------------------------------------------------------------------- the four rules
for _leaf, _symbol, _rule, _alias in (
    ("add", "+", np.add, ""),
    ("sub", "-", np.subtract, "subtract"),
    ("mul", "*", np.multiply, "multiply"),
):
    _torch_symbol, _mindspore_symbol = _operator(_symbol, _leaf)
    _others: dict[str, str | Form] = {"operator": _torch_symbol}
    if _alias:
        _others[f"function_{_alias}"] = Form(
            f"torch.{_alias}({{x}}, {{y}})", source=f"torch.{_alias}: alias for torch.{_leaf}()"
        )
    binary(
        _leaf,
        reference=_rule,
        dtypes=_NUMERIC,
        torch=_torch(_leaf, more=_others),
        mindspore=_mindspore(
            _leaf,
            primitive=f"{_leaf.capitalize()}()",
            mint="" if _leaf == "mul" else f"mint.{_leaf}",
            dtypes=MINDSPORE_NUMBERS,
            aliases=(f"ops.{_alias}",) if _alias else (),
            operator=_mindspore_symbol,
        ),
        tags=("arithmetic",),
    )

_torch_symbol, _mindspore_symbol = _operator("/", "div")
binary(
    "div",
    reference=np.divide,
    infer=promoted_broadcast_type,
    dtypes=(*FLOATS, "int32", "int64", "uint8", *COMPLEX),
    domain=(0.5, 4.0),
    torch=_torch(
        "div",
        inplace_dtypes=FLOATS,
        operator=_torch_symbol,
        function_true_divide=Form(
            "torch.true_divide({x}, {y})", source="torch.true_divide: div with rounding_mode=None"
        ),
        function_divide=Form("torch.divide({x}, {y})", source="torch.divide: alias for torch.div"),
        composed=Form(
            "torch.div({x}, {y}, rounding_mode=None)", source="torch.div: rounding_mode=None"
        ),
    ),
    mindspore=_mindspore(
        "div",
        primitive="Div()",
        aliases=("ops.divide", "ops.true_divide"),
        mint="mint.divide",
        operator=_mindspore_symbol,
        primitive_real=Form(
            "{self}({x}, {y})",
            setup=("{self} = ops.RealDiv()",),
            dtypes=MINDSPORE_FLOATS,
            source="mindspore.ops.RealDiv: element-wise floating-point division",
        ),
    ),
    tags=("arithmetic",),
)


def alpha_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    """A floating factor needs floating tensors."""
    alpha = call.attr("alpha")
    yield (
        is_float(call["x"].dtype) or isinstance(alpha, int),
        f"alpha={alpha} needs floating tensors, saw {call['x'].dtype}",
    )


for _leaf, _symbol, _rule in (("add", "+", np.add), ("sub", "-", np.subtract)):
    binary(
        f"{_leaf}_alpha",
        attrs={"alpha": (2, 0.5, -1, 0)},
        requires=alpha_fits,
        reference=lambda x, y, *, alpha, rule=_rule: rule(x, y * y.dtype.type(alpha)),
        dtypes=(*FLOATS, "int32", "int64"),
        torch=_torch(
            _leaf,
            "{x}, {y}, alpha={alpha}",
            keyword="input={x}, other={y}, alpha={alpha}",
            composed=Form(
                f"{{x}} {_symbol} {{alpha}} * {{y}}",
                source=f"torch.{_leaf}: out = input {_symbol} alpha * other",
            ),
        ),
        mindspore=mindspore_calls(
            f"mint.{_leaf}",
            "{x}, {y}, alpha={alpha}",
            keyword="input={x}, other={y}, alpha={alpha}",
            dtypes=_MINDSPORE_USUAL,
            composed=Form(
                f"{{x}} {_symbol} {{alpha}} * {{y}}",
                source=f"mindspore.mint.{_leaf}: out = input {_symbol} alpha * other",
            ),
            more={
                "function_subtract": Form(
                    "ops.subtract({x}, {y}, alpha={alpha})",
                    source="mindspore.ops.subtract: input - alpha * other",
                )
            }
            if _leaf == "sub"
            else None,
        ),
        tags=("arithmetic",),
    )


def rounded_quotient(x: Array, y: Array, *, rounding_mode: str) -> object:
    """Division rounded down, or towards zero."""
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    if x.dtype.kind in "iu":
        return (np.abs(x) // np.abs(y) * np.sign(x) * np.sign(y)).astype(x.dtype)
    return np.trunc(x / y)


binary(
    "div_rounding",
    attrs={"rounding_mode": ("floor", "trunc")},
    reference=rounded_quotient,
    dtypes=(*FLOATS, "int32", "int64", "uint8"),
    domain=(0.7, 4.6),
    torch=_torch(
        "div",
        "{x}, {y}, rounding_mode={rounding_mode}",
        keyword="input={x}, other={y}, rounding_mode={rounding_mode}",
        function_divide=Form(
            "torch.divide({x}, {y}, rounding_mode={rounding_mode})",
            source="torch.divide: alias for torch.div",
        ),
        operator=Form(
            "{x} // {y}",
            when={"rounding_mode": "floor"},
            source="torch.floor_divide: torch.div with rounding_mode='floor'",
        ),
        composed=Form(
            "torch.floor_divide({x}, {y})",
            when={"rounding_mode": "floor"},
            source="torch.floor_divide: torch.div with rounding_mode='floor'",
        ),
    ),
    mindspore=_mindspore(
        "div",
        "{x}, {y}, rounding_mode={rounding_mode}",
        keyword="input={x}, other={y}, rounding_mode={rounding_mode}",
        mint="mint.divide",
        primitive_truncate=Form(
            "{self}({x}, {y})",
            setup=("{self} = ops.TruncateDiv()",),
            when={"rounding_mode": "trunc"},
            source="mindspore.ops.TruncateDiv: rounds towards zero",
        ),
    ),
    differentiable=False,
    tags=("arithmetic",),
)

# -------------------------------------------------------------------------------- remainders
_torch_symbol, _mindspore_symbol = _operator("//", "floor_divide")
binary(
    "floor_divide",
    reference=np.floor_divide,
    dtypes=(*FLOATS, "int32", "int64", "uint8"),
    domain=(0.7, 4.6),
    torch=_torch("floor_divide", operator=_torch_symbol),
    mindspore=_mindspore(
        "floor_divide",
        primitive="FloorDiv()",
        mint="mint.floor_divide",
        operator=_mindspore_symbol,
        function_floor_div=Form(
            "ops.floor_div({x}, {y})", source="mindspore.ops.floor_div: the quotient rounded down"
        ),
    ),
    differentiable=False,
    tags=("arithmetic",),
)
_torch_symbol, _mindspore_symbol = _operator("%", "remainder")
binary(
    "remainder",
    reference=np.remainder,
    dtypes=(*FLOATS, "int32", "int64", "uint8"),
    domain=(0.7, 4.6),
    torch=_torch("remainder", operator=_torch_symbol),
    mindspore=_mindspore(
        "remainder",
        operator=_mindspore_symbol,
        function_floor_mod=Form(
            "ops.floor_mod({x}, {y})", source="mindspore.ops.floor_mod: flooring remainder"
        ),
        primitive_floor=Form(
            "{self}({x}, {y})",
            setup=("{self} = ops.FloorMod()",),
            source="mindspore.ops.FloorMod: equivalent to mindspore.ops.floor_mod()",
        ),
    ),
    tags=("arithmetic",),
)
binary(
    "fmod",
    reference=np.fmod,
    dtypes=(*FLOATS, "int32", "int64", "uint8"),
    domain=(0.7, 4.6),
    torch=_torch("fmod"),
    mindspore=_mindspore("fmod"),
    tags=("arithmetic",),
)

# ------------------------------------------------------------------------------------ powers
_torch_symbol, _mindspore_symbol = _operator("**", "pow")
binary(
    "pow",
    reference=np.power,
    dtypes=(*FLOATS, "int32", "int64"),
    domain=(0.3, 3.0),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=_torch("pow", keyword="input={x}, exponent={y}", operator=_torch_symbol),
    mindspore=_mindspore(
        "pow",
        keyword="input={x}, exponent={y}",
        primitive="Pow()",
        operator=_mindspore_symbol,
    ),
    tags=("arithmetic",),
)


def float64_broadcast_type(call: OpCall) -> Type:
    return Dense("float64", broadcast_shape([call["x"].shape, call["y"].shape]))


binary(
    "float_power",
    infer=float64_broadcast_type,
    reference=lambda x, y: np.asarray(np.power(x.astype(np.float64), y.astype(np.float64))),
    lift=False,
    dtypes=(*FLOATS, "int32", "int64"),
    domain=(0.3, 3.0),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=_torch("float_power", keyword="input={x}, exponent={y}", inplace_dtypes=("float64",)),
    mindspore=_mindspore("float_power", keyword="input={x}, exponent={y}", mint="mint.float_power"),
)
binary(
    "ldexp",
    reference=lambda x, y: x * np.exp2(y),
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=_torch("ldexp"),
    mindspore=_mindspore("ldexp", keyword="x={x}, other={y}", dtypes=MINDSPORE_FLOATS),
)

# ---------------------------------------------------------------- functions of two variables
binary(
    "atan2",
    reference=np.arctan2,
    infer=promoted_broadcast_type,
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=_torch(
        "atan2",
        inplace_dtypes=FLOATS,
        function_arctan2=Form("torch.arctan2({x}, {y})", source="torch.arctan2: alias for atan2"),
    ),
    mindspore=_mindspore(
        "atan2", primitive="Atan2()", aliases=("ops.arctan2",), dtypes=MINDSPORE_FLOATS
    ),
)
binary(
    "hypot",
    reference=np.hypot,
    dtypes=FLOATS,
    torch=_torch("hypot"),
    mindspore=_mindspore("hypot", primitive="Hypot()", dtypes=("float32", "float64")),
    limits=(cpu_refuses("Hypot", "float16"),),
)
binary(
    "copysign",
    reference=np.copysign,
    infer=promoted_broadcast_type,
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.EXACT,
    torch=_torch("copysign", inplace_dtypes=FLOATS),
    mindspore=_mindspore("copysign", keyword="x={x}, other={y}"),
)
binary(
    "nextafter",
    reference=lambda x, y: np.nextafter(x, y),
    dtypes=("float32", "float64"),
    tolerance=Tolerance.EXACT,
    torch=_torch("nextafter"),
    mindspore=_mindspore("nextafter", primitive="NextAfter()", dtypes=("float32", "float64")),
    differentiable=False,
)
binary(
    "xlogy",
    reference=special.xlogy,
    infer=promoted_broadcast_type,
    dtypes=(*FLOATS, "int32", "int64"),
    domain=(0.5, 4.0),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=_torch(
        "xlogy",
        inplace_dtypes=FLOATS,
        function_special=Form("torch.special.xlogy({x}, {y})", source="torch.xlogy: alias"),
    ),
    mindspore=_mindspore("xlogy", primitive="Xlogy()", mint="mint.xlogy", dtypes=MINDSPORE_FLOATS),
)
for _leaf, _rule in (("logaddexp", np.logaddexp), ("logaddexp2", np.logaddexp2)):
    binary(
        _leaf,
        reference=_rule,
        dtypes=FLOATS,
        tolerance=Tolerance.TRANSCENDENTAL,
        torch=torch_calls(f"torch.{_leaf}", "{x}, {y}", keyword=_XY, inplace=""),
        mindspore=_mindspore(_leaf, dtypes=MINDSPORE_FLOATS),
    )
for _leaf, _integer_rule in (("gcd", np.gcd), ("lcm", np.lcm)):
    binary(
        _leaf,
        reference=_integer_rule,
        dtypes=("int32", "int64", "int16"),
        domain=(1.0, 30.0),
        tolerance=Tolerance.EXACT,
        torch=_torch(_leaf),
        mindspore=_mindspore(
            _leaf,
            primitive=f"{_leaf.capitalize()}()",
            mint="mint.gcd" if _leaf == "gcd" else "",
            dtypes=("int32", "int64"),
        ),
        differentiable=False,
    )
binary(
    "heaviside",
    reference=lambda x, y: np.heaviside(x, y),
    dtypes=FLOATS,
    tolerance=Tolerance.EXACT,
    torch=_torch("heaviside", keyword="input={x}, values={y}"),
    mindspore=_mindspore(
        "heaviside",
        keyword="input={x}, values={y}",
        primitive="Heaviside()",
        dtypes=MINDSPORE_FLOATS,
    ),
    differentiable=False,
)

# ------------------------------------------------------------------------------ extremes
for _leaf, _rule, _cpu_mint in (
    ("maximum", np.maximum, True),
    ("minimum", np.minimum, True),
    ("fmax", np.fmax, False),
    ("fmin", np.fmin, False),
):
    _word = {"maximum": "max", "minimum": "min"}.get(_leaf)
    binary(
        _leaf,
        reference=_rule,
        dtypes=(*NUMBERS, "bool") if _cpu_mint else (*FLOATS, "int32", "int64"),
        tolerance=Tolerance.EXACT,
        torch=torch_calls(
            f"torch.{_leaf}",
            "{x}, {y}",
            keyword=_XY,
            inplace="",
            more={
                f"function_{_word}": Form(
                    f"torch.{_word}({{x}}, {{y}})",
                    source=f"torch.{_word}(input, other): see torch.{_leaf}()",
                )
            }
            if _word
            else None,
        ),
        mindspore=None
        if _leaf == "fmin"
        else _mindspore(
            _leaf,
            primitive=f"{_leaf.capitalize()}()",
            mint=f"mint.{_leaf}" if _cpu_mint else "",
        ),
        tags=("extreme",),
    )

# ------------------------------------------------------------------------------ three tensors


def _ternary(
    name: str,
    *,
    reference: Callable[..., object],
    torch: Forms,
    mindspore: Forms,
    attrs: dict[str, tuple[Attr, ...]],
    dtypes: tuple[str, ...] = FLOATS,
    requires: Callable[[OpCall], Iterator[tuple[bool, str]]] = broadcastable,
    domain: tuple[float, float] = (-2.0, 2.0),
    limits: tuple[Limit, ...] = (),
) -> None:
    op(
        name,
        "x y z",
        attrs=attrs,
        infer=broadcast_type,
        requires=requires,
        reference=lifted(reference),
        torch=torch,
        mindspore=mindspore,
        dtypes=dtypes,
        domain=domain,
        companions=companion("y", "z", domain=domain),
        shapes=ELEMENTWISE_SHAPES,
        tags=("elementwise", "arithmetic", "ternary"),
        limits=(*limits, *no_bfloat16(dtypes)),
    )


def value_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from broadcastable(call)
    value = call.attr("value")
    yield (
        is_float(call["x"].dtype) or isinstance(value, int),
        f"value={value} needs floating tensors, saw {call['x'].dtype}",
    )


for _leaf, _sign, _inner in (("addcmul", "*", np.multiply), ("addcdiv", "/", np.divide)):
    _ternary(
        _leaf,
        attrs={"value": (1, 0.5, -2, 0)},
        reference=lambda x, y, z, *, value, rule=_inner: x + x.dtype.type(value) * rule(y, z),
        requires=value_fits,
        dtypes=(*FLOATS, "int32", "int64") if _leaf == "addcmul" else FLOATS,
        domain=(0.5, 3.0),
        torch=torch_calls(
            f"torch.{_leaf}",
            "{x}, {y}, {z}, value={value}",
            keyword="input={x}, tensor1={y}, tensor2={z}, value={value}",
            inplace="",
            more={
                "inplace": _inplace_needs_room(
                    Form(
                        f"{{x}}.clone().{_leaf}_({{y}}, {{z}}, value={{value}})",
                        source=f"torch.Tensor.{_leaf}_: in-place version of {_leaf}()",
                    )
                ),
                "default": Form(
                    f"torch.{_leaf}({{x}}, {{y}}, {{z}})",
                    when={"value": 1},
                    source=f"torch.{_leaf}: value=1",
                ),
                "composed": Form(
                    f"{{x}} + {{value}} * ({{y}} {_sign} {{z}})",
                    source=f"torch.{_leaf}: out = input + value * (tensor1 {_sign} tensor2)",
                ),
            },
        ),
        mindspore=mindspore_calls(
            f"ops.{_leaf}",
            "{x}, {y}, {z}, {value}",
            keyword="input={x}, tensor1={y}, tensor2={z}, value={value}",
            method=f"{{x}}.{_leaf}({{y}}, {{z}}, value={{value}})" if _leaf == "addcmul" else "",
            dtypes=_MINDSPORE_USUAL if _leaf == "addcmul" else MINDSPORE_FLOATS,
            more={
                "default": Form(
                    f"ops.{_leaf}({{x}}, {{y}}, {{z}})",
                    when={"value": 1},
                    source=f"mindspore.ops.{_leaf}: value=1",
                ),
                "composed": Form(
                    f"{{x}} + {{value}} * ({{y}} {_sign} {{z}})",
                    source=f"mindspore.ops.{_leaf}: input + value * (tensor1 {_sign} tensor2)",
                ),
            },
        ),
    )
_ternary(
    "lerp_tensor",
    attrs={},
    reference=lambda x, y, z: x + z * (y - x),
    torch=_torch(
        "lerp",
        "{x}, {y}, {z}",
        keyword="input={x}, end={y}, weight={z}",
        composed=Form(
            "{x} + {z} * ({y} - {x})", source="torch.lerp: start + weight * (end - start)"
        ),
    ),
    mindspore=_mindspore(
        "lerp",
        "{x}, {y}, {z}",
        keyword="input={x}, end={y}, weight={z}",
        primitive="Lerp()",
        mint="mint.lerp",
        dtypes=("float16", "float32"),
    ),
    limits=(cpu_refuses("Lerp", "float64"),),
)
binary(
    "lerp",
    attrs={"weight": (0.25, 0.5, 0.0, 1.0, 1.5)},
    reference=lambda x, y, *, weight: x + x.dtype.type(weight) * (y - x),
    torch=_torch(
        "lerp",
        "{x}, {y}, {weight}",
        keyword="input={x}, end={y}, weight={weight}",
        composed=Form(
            "{x} + {weight} * ({y} - {x})", source="torch.lerp: start + weight * (end - start)"
        ),
    ),
    mindspore=_mindspore(
        "lerp",
        "{x}, {y}, {weight}",
        keyword="input={x}, end={y}, weight={weight}",
        primitive="Lerp()",
        mint="mint.lerp",
        dtypes=("float16", "float32"),
    ),
    limits=(cpu_refuses("Lerp", "float64"),),
    tags=("arithmetic",),
)
