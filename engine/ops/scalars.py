"""Element-wise functions of a tensor and a number: arithmetic, powers, bounds, fills.

A number never widens a tensor of its own kind; a floating number makes an integer tensor float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import FLOATS, Dense, Type, is_float
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    Array,
    broadcast_shape,
    broadcast_type,
    broadcastable,
    companion,
    lifted,
    mindspore_calls,
    no_bfloat16,
    same_type,
    torch_calls,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_USUAL = (*FLOATS, "int32", "int64")
_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")


def scalar_type(call: OpCall) -> Type:
    """The operand's type, unless a floating number meets integers: float32."""
    x = call["x"]
    dtype = x.dtype if is_float(x.dtype) or isinstance(call.attr("value"), int) else "float32"
    return Dense(dtype, x.shape)


def _with_number(rule: Callable[[Array, float], object]) -> Callable[..., object]:
    """A reference over (tensor, number) with the result dtype of `scalar_type`."""

    def reference(x: Array, *, value: float) -> object:
        wide = x.dtype.kind in "iu" and not isinstance(value, int)
        target = np.dtype("float32") if wide else x.dtype
        given = x.astype(np.float64) if wide else x
        return np.asarray(lifted(lambda a: rule(a, value))(given)).astype(target)

    return reference


def _stays(call: OpCall) -> bool:
    """The result has the operand's dtype, so that an in-place form can hold it."""
    return scalar_type(call) == Dense(call["x"].dtype, call["x"].shape)


def _has_axes(call: OpCall) -> bool:
    """A 0-d tensor argument gives way to a tensor with axes, as a number does."""
    return call["x"].rank > 0


def _is_float32(call: OpCall) -> bool:
    return call["x"].dtype == "float32"


def _arithmetic(
    name: str,
    symbol: str,
    rule: Callable[[Array, float], object],
    *,
    values: tuple[Attr, ...],
    primitive: str,
    parameter: str = "other",
    mint: bool = False,
    reflected: bool = False,
    requires: Callable[[OpCall], Iterator[tuple[bool, str]]] | None = None,
    domain: tuple[float, float] = (-2.0, 2.0),
    dtypes: tuple[str, ...] = _USUAL,
    tolerance: Tolerance = Tolerance.ELEMENTWISE,
    differentiable: bool = True,
) -> None:
    """`name`_scalar: a named function with a number as its second argument."""
    text = f"{{x}} {symbol} {{value}}"
    turned = {"operator_reflected": Form(f"{{value}} {symbol} {{x}}", source="commutative")}
    tensor = Form(
        f"torch.{name}({{x}}, torch.tensor({{value}}))",
        when=_has_axes,
        source="torch.result_type: a 0-d tensor takes part as a number does",
    )
    op(
        f"{name}_scalar",
        "x",
        attrs={"value": values},
        infer=scalar_type,
        requires=requires,
        reference=_with_number(rule),
        dtypes=dtypes,
        tolerance=tolerance,
        domain=domain,
        shapes=ELEMENTWISE_SHAPES,
        tags=("elementwise", "arithmetic", "scalar", "shape-preserving"),
        differentiable=differentiable,
        limits=no_bfloat16(dtypes),
        torch=torch_calls(
            f"torch.{name}",
            "{x}, {value}",
            keyword=f"input={{x}}, {parameter}={{value}}",
            inplace="",
            more={
                "inplace": Form(
                    f"{{x}}.clone().{name}_({{value}})",
                    when=_stays,
                    source=f"torch.Tensor.{name}_: in-place version of {name}()",
                ),
                "operator": Form(text, source=f"torch.{name}: x {symbol} value"),
                "tensor": tensor,
                **(turned if reflected else {}),
            },
        ),
        mindspore=mindspore_calls(
            f"ops.{name}",
            "{x}, {value}",
            keyword=f"input={{x}}, {parameter}={{value}}",
            primitive=primitive,
            mint=f"mint.{name}" if mint else (),
            dtypes=_MINDSPORE_USUAL,
            more={
                "operator": Form(text, source=f"mindspore.ops.{name}: x {symbol} value"),
                "tensor": Form(
                    f"ops.{name}({{x}}, {{self}})",
                    setup=("{self} = ms.Tensor({value}, ms.float32)",),
                    when=_is_float32,
                    source=f"mindspore.ops.{name}: the second input may be a tensor",
                ),
                **(turned if reflected else {}),
            },
        ),
    )


_arithmetic(
    "add",
    "+",
    lambda x, value: x + value,
    values=(1.5, 2, -0.5, 0),
    primitive="Add()",
    mint=True,
    reflected=True,
)
_arithmetic(
    "sub",
    "-",
    lambda x, value: x - value,
    values=(1.5, 2, -0.5, 0),
    primitive="Sub()",
    mint=True,
)
_arithmetic(
    "mul",
    "*",
    lambda x, value: x * value,
    values=(1.5, 2, -0.5, 0, 1),
    primitive="Mul()",
    reflected=True,
)
_arithmetic(
    "div",
    "/",
    lambda x, value: x / value,
    values=(2.0, 0.5, -3.0),
    primitive="Div()",
    dtypes=_USUAL,
)
_arithmetic(
    "floor_divide",
    "//",
    lambda x, value: np.floor_divide(x, value),
    values=(2, -3, 0.75),
    primitive="FloorDiv()",
    mint=True,
    domain=(0.6, 4.7),
    differentiable=False,
)
_arithmetic(
    "remainder",
    "%",
    lambda x, value: np.remainder(x, value),
    values=(2, -3, 0.75),
    primitive="",
    domain=(0.6, 4.7),
)


def power_takes(call: OpCall) -> Iterator[tuple[bool, str]]:
    """Integers to negative integer powers are refused by both frameworks."""
    value = call.attr("value")
    yield (
        is_float(call["x"].dtype) or not (isinstance(value, int) and value < 0),
        f"integers to the power {value} are not integers",
    )


_arithmetic(
    "pow",
    "**",
    lambda x, value: x**value,
    values=(2, 0.5, 3, -1, 1.5, 0, 1),
    primitive="Pow()",
    parameter="exponent",
    requires=power_takes,
    domain=(0.3, 3.0),
    tolerance=Tolerance.TRANSCENDENTAL,
)


def _reflected(
    name: str,
    symbol: str,
    rule: Callable[[Array, float], object],
    *,
    values: tuple[Attr, ...],
    mindspore: str,
    torch: dict[str, Form],
    domain: tuple[float, float] = (-2.0, 2.0),
    dtypes: tuple[str, ...] = _USUAL,
    tolerance: Tolerance = Tolerance.ELEMENTWISE,
) -> None:
    """A number on the left of a tensor."""
    text = f"{{value}} {symbol} {{x}}"
    op(
        name,
        "x",
        attrs={"value": values},
        infer=scalar_type,
        reference=_with_number(rule),
        dtypes=dtypes,
        tolerance=tolerance,
        domain=domain,
        shapes=ELEMENTWISE_SHAPES,
        tags=("elementwise", "arithmetic", "scalar", "shape-preserving"),
        limits=no_bfloat16(dtypes),
        torch={"operator": Form(text), **torch},
        mindspore={
            "function": Form(
                f"{mindspore}({{value}}, {{x}})", dtypes=_MINDSPORE_USUAL, api=mindspore
            ),
            "operator": Form(
                text, dtypes=_MINDSPORE_USUAL, source=f"mindspore.{mindspore}: value {symbol} x"
            ),
        },
    )


_reflected(
    "rsub_scalar",
    "-",
    lambda x, value: value - x,
    values=(1.0, 2, -0.5),
    mindspore="ops.sub",
    torch={
        "function": Form(
            "torch.rsub({x}, {value})", source="torch.rsub: other - input, as value - x"
        ),
        "composed": Form(
            "torch.add(torch.neg({x}), {value})", source="torch.add, torch.neg: value - x"
        ),
    },
)
_reflected(
    "rdiv_scalar",
    "/",
    lambda x, value: value / x,
    values=(1.0, 2.5, -0.5),
    mindspore="ops.div",
    torch={
        "composed": Form(
            "torch.reciprocal({x}) * {value}", source="torch.reciprocal: value / x = value * (1/x)"
        )
    },
    domain=(0.5, 4.0),
    tolerance=Tolerance.ELEMENTWISE,
)
_reflected(
    "rpow_scalar",
    "**",
    lambda x, value: value**x,
    values=(2.0, 0.5),
    mindspore="ops.pow",
    torch={"function": Form("torch.pow({value}, {x})", source="torch.pow(self, exponent)")},
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
)


# ----------------------------------------------------------------------------------------- bounds
def bounds_fit(call: OpCall) -> Iterator[tuple[bool, str]]:
    low, high = call.attr("min"), call.attr("max")
    yield low is not None or high is not None, "min and max are both left out"
    yield (
        is_float(call["x"].dtype) or not any(isinstance(one, float) for one in (low, high)),
        "integers need integer bounds",
    )


def clamp(x: Array, *, min: float | None, max: float | None) -> object:  # noqa: A002
    """Hold in [min, max]; `max` wins where it is the smaller; NaN stays NaN."""
    held = x if min is None else np.maximum(x, x.dtype.type(min))
    return held if max is None else np.minimum(held, x.dtype.type(max))


_CLAMP = "{x}, {min}, {max}"
_CLAMP_NAMED = "input={x}, min={min}, max={max}"
op(
    "clamp",
    "x",
    attrs={"min": (-1.0, None, 0, 0.5), "max": (1.0, None, 1, -0.5)},
    infer=same_type,
    requires=bounds_fit,
    reference=lifted(clamp),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "shape-preserving"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.clamp",
        _CLAMP,
        keyword=_CLAMP_NAMED,
        aliases=("torch.clip",),
        method_clip=Form("{x}.clip({min}, {max})", source="torch.clip: alias for torch.clamp()"),
        default=Form(
            "torch.clamp({x}, min={min})", when={"max": None}, source="torch.clamp: max=None"
        ),
        default_max=Form(
            "torch.clamp({x}, max={max})", when={"min": None}, source="torch.clamp: min=None"
        ),
        composed=Form(
            "torch.clamp_max(torch.clamp_min({x}, {min}), {max})",
            when=lambda call: call.attr("min") is not None and call.attr("max") is not None,
            source="torch.clamp: min(max(x, min), max)",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.clamp",
        _CLAMP,
        keyword=_CLAMP_NAMED,
        aliases=("ops.clip", "ops.clip_by_value"),
        mint="mint.nn.functional.clamp",
        dtypes=_MINDSPORE_USUAL,
        method_clip=Form(
            "{x}.clip({min}, {max})", source="mindspore.Tensor.clip: alias for Tensor.clamp()"
        ),
        default=Form(
            "ops.clamp({x}, min={min})", when={"max": None}, source="mindspore.ops.clamp: max=None"
        ),
        default_max=Form(
            "ops.clamp({x}, max={max})", when={"min": None}, source="mindspore.ops.clamp: min=None"
        ),
    ),
)
op(
    "clamp_tensor",
    "x low high",
    infer=same_type,
    requires=lambda call: [
        (
            broadcast_shape([call[one].shape for one in ("x", "low", "high")]) == call["x"].shape,
            "the bounds must broadcast to the tensor",
        )
    ],
    reference=lifted(lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    companions=lambda first, attrs: {
        **companion("low", domain=(-2.0, 0.0), seed=1)(first, attrs),
        **companion("high", domain=(0.0, 2.0), seed=2)(first, attrs),
    },
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "shape-preserving", "ternary"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.clamp",
        "{x}, {low}, {high}",
        keyword="input={x}, min={low}, max={high}",
        composed=Form(
            "torch.minimum(torch.maximum({x}, {low}), {high})",
            source="torch.clamp: min(max(x, min), max)",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.clamp",
        "{x}, {low}, {high}",
        keyword="input={x}, min={low}, max={high}",
        aliases=("ops.clip_by_value",),
        dtypes=_MINDSPORE_USUAL,
        composed=Form(
            "ops.minimum(ops.maximum({x}, {low}), {high})",
            source="mindspore.ops.clamp: held between the bounds",
        ),
    ),
)


# ------------------------------------------------------------------------------------- selection
def fill_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from _mask_fits(call)
    value = call.attr("value")
    yield (
        is_float(call["x"].dtype) or isinstance(value, int),
        f"value {value} does not fit {call['x'].dtype}",
    )


def _mask_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from broadcastable(call)
    x, mask = call["x"], call["mask"]
    yield broadcast_shape([x.shape, mask.shape]) == x.shape, "the mask must broadcast to the tensor"


op(
    "masked_fill",
    "x mask:bool",
    attrs={"value": (0.0, 2, -1.5, float("-inf"))},
    infer=same_type,
    requires=fill_fits,
    reference=lambda x, mask, *, value: np.where(mask, x.dtype.type(value), x),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    companions=companion("mask", dtype="bool"),
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "shape-preserving", "selection"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.masked_fill",
        "{x}, {mask}, {value}",
        keyword="input={x}, mask={mask}, value={value}",
        tensor=Form(
            "torch.masked_fill({x}, {mask}, torch.tensor({value}))",
            when=lambda call: is_float(call["x"].dtype),
            source="torch.Tensor.masked_fill_: value may be a 0-d tensor",
        ),
        composed=Form(
            "torch.where({mask}, {value}, {x})", source="torch.where: other may be a number"
        ),
    ),
    mindspore=mindspore_calls(
        "ops.masked_fill",
        "{x}, {mask}, {value}",
        keyword="input_x={x}, mask={mask}, value={value}",
        primitive="MaskedFill()",
        dtypes=_MINDSPORE_USUAL,
        tensor=Form(
            "ops.masked_fill({x}, {mask}, {self})",
            setup=("{self} = ms.Tensor({value}, ms.float32)",),
            when=_is_float32,
            source="mindspore.ops.masked_fill: value is a number or a tensor",
        ),
        composed=Form(
            "ops.where({mask}, {value}, {x})", source="mindspore.ops.where: input may be a scalar"
        ),
    ),
)


op(
    "where",
    "x y condition:bool",
    infer=broadcast_type,
    requires=broadcastable,
    reference=lambda x, y, condition: np.where(condition, x, y),
    dtypes=(*_USUAL, "int8", "uint8", "bool", "complex64"),
    tolerance=Tolerance.EXACT,
    companions=lambda first, attrs: {
        **companion("y")(first, attrs),
        **companion("condition", dtype="bool", seed=2)(first, attrs),
    },
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "selection", "ternary"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.where",
        "{condition}, {x}, {y}",
        keyword="condition={condition}, input={x}, other={y}",
        method="{x}.where({condition}, {y})",
        inplace="",
    ),
    mindspore=mindspore_calls(
        "ops.where",
        "{condition}, {x}, {y}",
        keyword="condition={condition}, input={x}, other={y}",
        method="{x}.where({condition}, {y})",
        primitive="Select()",
        dtypes=(*_MINDSPORE_USUAL, "bool"),
    ),
)


op(
    "where_scalar",
    "x condition:bool",
    attrs={"value": (0.0, 1, -1.5, float("nan"))},
    infer=broadcast_type,
    requires=lambda call: [
        *broadcastable(call),
        (
            is_float(call["x"].dtype) or isinstance(call.attr("value"), int),
            f"value {call.attr('value')} does not fit {call['x'].dtype}",
        ),
    ],
    reference=lambda x, condition, *, value: np.where(condition, x, x.dtype.type(value)),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    companions=companion("condition", dtype="bool"),
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "selection", "scalar"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "torch.where",
        "{condition}, {x}, {value}",
        keyword="condition={condition}, input={x}, other={value}",
        method="{x}.where({condition}, {value})",
        inplace="",
    ),
    mindspore=mindspore_calls(
        "ops.where",
        "{condition}, {x}, {value}",
        keyword="condition={condition}, input={x}, other={value}",
        method="{x}.where({condition}, {value})",
        dtypes=_MINDSPORE_USUAL,
    ),
)
