"""Element-wise arithmetic of two or three tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.ir.types import COMPLEX, FLOATS, Dense, Type, is_float
from engine.ops.families import (
    MINDSPORE_FLOATS,
    MINDSPORE_NUMBERS,
    NUMBERS,
    Array,
    Forms,
    binary,
    broadcast_shape,
    mindspore_calls,
    torch_calls,
)
from engine.ops.promotion import (
    mixed_quotient_type,
    mixed_reference,
    mixed_type,
    mixes,
    mixes_with_masks,
)
from engine.ops.spec import Form, OpCall, Tolerance

_NUMERIC = (*NUMBERS, *COMPLEX)
_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")
_XY = "input={x}, other={y}"


def operator_forms(symbol: str, torch_name: str) -> tuple[Form, Form]:
    """The two frameworks' operator syntax."""
    text = f"{{x}} {symbol} {{y}}"
    return (
        Form(text, source=f"torch.Tensor: x {symbol} y is torch.{torch_name}(x, y)"),
        Form(text, source=f"mindspore.Tensor: x {symbol} y is mindspore.ops.{torch_name}(x, y)"),
    )


def inplace_needs_room(form: Form) -> Form:
    """An in-place form: the result must have the shape and the dtype of the receiver."""

    def holds(call: OpCall) -> bool:
        x = call["x"]
        others = [one for one in call.types.values() if isinstance(one, Dense)]
        fits = broadcast_shape([one.shape for one in others]) == x.shape
        return fits and all(one.dtype == x.dtype for one in others)

    return Form(form.call, when=holds, dtypes=form.dtypes, source=form.source)


def torch_forms(
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
        more={"inplace": inplace_needs_room(inplace), **(more or {}), **others},
    )


def mindspore_forms(
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
    _torch_symbol, _mindspore_symbol = operator_forms(_symbol, _leaf)
    _others: dict[str, str | Form] = {"operator": _torch_symbol}
    if _alias:
        _others[f"function_{_alias}"] = Form(
            f"torch.{_alias}({{x}}, {{y}})", source=f"torch.{_alias}: alias for torch.{_leaf}()"
        )
    binary(
        _leaf,
        reference=mixed_reference(_rule),
        infer=mixed_type,
        requires=mixes if _leaf == "sub" else mixes_with_masks,
        lift=False,
        mixed=True,
        dtypes=_NUMERIC,
        torch=torch_forms(_leaf, more=_others),
        mindspore=mindspore_forms(
            _leaf,
            primitive=f"{_leaf.capitalize()}()",
            mint="" if _leaf == "mul" else f"mint.{_leaf}",
            dtypes=MINDSPORE_NUMBERS,
            aliases=(f"ops.{_alias}",) if _alias else (),
            operator=_mindspore_symbol,
        ),
        tags=("arithmetic",),
    )

_torch_symbol, _mindspore_symbol = operator_forms("/", "div")
binary(
    "div",
    reference=mixed_reference(np.divide, promote=True),
    infer=mixed_quotient_type,
    requires=mixes_with_masks,
    lift=False,
    mixed=True,
    dtypes=(*FLOATS, "int32", "int64", "uint8", *COMPLEX),
    domain=(0.5, 4.0),
    torch=torch_forms(
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
    mindspore=mindspore_forms(
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
        method_true_divide=Form(
            "{x}.true_divide({y})",
            source="mindspore.Tensor.true_divide: alias for Tensor.div with rounding_mode=None",
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
        torch=torch_forms(
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
    torch=torch_forms(
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
    mindspore=mindspore_forms(
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
_torch_symbol, _mindspore_symbol = operator_forms("//", "floor_divide")
binary(
    "floor_divide",
    reference=np.floor_divide,
    dtypes=(*FLOATS, "int32", "int64", "uint8"),
    domain=(0.7, 4.6),
    torch=torch_forms("floor_divide", operator=_torch_symbol),
    mindspore=mindspore_forms(
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
_torch_symbol, _mindspore_symbol = operator_forms("%", "remainder")
binary(
    "remainder",
    reference=np.remainder,
    dtypes=(*FLOATS, "int32", "int64", "uint8"),
    domain=(0.7, 4.6),
    torch=torch_forms("remainder", operator=_torch_symbol),
    mindspore=mindspore_forms(
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
    torch=torch_forms("fmod"),
    mindspore=mindspore_forms(
        "fmod",
        primitive_truncated=Form(
            "{self}({x}, {y})",
            setup=("{self} = ops.TruncateMod()",),
            dtypes=(*MINDSPORE_FLOATS, "int32"),  # as the kernel says
            source="mindspore.ops.TruncateMod: the remainder of division, truncated",
        ),
        function_truncate_mod=Form(
            "ops.truncate_mod({x}, {y})",
            dtypes=(*MINDSPORE_FLOATS, "int32"),  # as the kernel says
            source="mindspore.ops.truncate_mod: the remainder of division, truncated",
        ),
    ),
    tags=("arithmetic",),
)

# ------------------------------------------------------------------------------------ powers
_torch_symbol, _mindspore_symbol = operator_forms("**", "pow")
binary(
    "pow",
    reference=np.power,
    dtypes=(*FLOATS, "int32", "int64"),
    domain=(0.3, 3.0),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=torch_forms("pow", keyword="input={x}, exponent={y}", operator=_torch_symbol),
    mindspore=mindspore_forms(
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
    torch=torch_forms(
        "float_power", keyword="input={x}, exponent={y}", inplace_dtypes=("float64",)
    ),
    mindspore=mindspore_forms(
        "float_power", keyword="input={x}, exponent={y}", mint="mint.float_power"
    ),
)
binary(
    "ldexp",
    reference=lambda x, y: x * np.exp2(y),
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=torch_forms("ldexp"),
    mindspore=mindspore_forms("ldexp", keyword="x={x}, other={y}", dtypes=MINDSPORE_FLOATS),
)
