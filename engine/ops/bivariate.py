"""Functions of two or three tensors that no operator symbol stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from engine.ir.graph import Attr
from engine.ir.types import FLOATS, is_float
from engine.ops.arithmetic import (
    inplace_needs_room,
    mindspore_forms,
    torch_forms,
)
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    NUMBERS,
    Forms,
    binary,
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

_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")
_XY = "input={x}, other={y}"
_rule: Callable[..., object]
_integer_rule: Callable[..., object]

# ---------------------------------------------------------------- functions of two variables
binary(
    "atan2",
    reference=np.arctan2,
    infer=promoted_broadcast_type,
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=torch_forms(
        "atan2",
        inplace_dtypes=FLOATS,
        function_arctan2=Form("torch.arctan2({x}, {y})", source="torch.arctan2: alias for atan2"),
    ),
    mindspore=mindspore_forms(
        "atan2", primitive="Atan2()", aliases=("ops.arctan2",), dtypes=MINDSPORE_FLOATS
    ),
)
binary(
    "hypot",
    reference=np.hypot,
    dtypes=FLOATS,
    torch=torch_forms("hypot"),
    mindspore=mindspore_forms("hypot", primitive="Hypot()", dtypes=("float32", "float64")),
    limits=(cpu_refuses("Hypot", "float16"),),
)
binary(
    "copysign",
    reference=np.copysign,
    infer=promoted_broadcast_type,
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.EXACT,
    torch=torch_forms("copysign", inplace_dtypes=FLOATS),
    mindspore=mindspore_forms("copysign", keyword="x={x}, other={y}"),
)
binary(
    "nextafter",
    reference=lambda x, y: np.nextafter(x, y),
    dtypes=("float32", "float64"),
    tolerance=Tolerance.EXACT,
    torch=torch_forms("nextafter"),
    mindspore=mindspore_forms("nextafter", primitive="NextAfter()", dtypes=("float32", "float64")),
    differentiable=False,
)
binary(
    "xlogy",
    reference=special.xlogy,
    infer=promoted_broadcast_type,
    dtypes=(*FLOATS, "int32", "int64"),
    domain=(0.5, 4.0),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch=torch_forms(
        "xlogy",
        inplace_dtypes=FLOATS,
        function_special=Form("torch.special.xlogy({x}, {y})", source="torch.xlogy: alias"),
    ),
    mindspore=mindspore_forms(
        "xlogy", primitive="Xlogy()", mint="mint.xlogy", dtypes=MINDSPORE_FLOATS
    ),
)
for _leaf, _rule in (("logaddexp", np.logaddexp), ("logaddexp2", np.logaddexp2)):
    binary(
        _leaf,
        reference=_rule,
        dtypes=FLOATS,
        tolerance=Tolerance.TRANSCENDENTAL,
        torch=torch_calls(f"torch.{_leaf}", "{x}, {y}", keyword=_XY, inplace=""),
        mindspore=mindspore_forms(_leaf, dtypes=MINDSPORE_FLOATS),
    )
for _leaf, _integer_rule in (("gcd", np.gcd), ("lcm", np.lcm)):
    binary(
        _leaf,
        reference=_integer_rule,
        dtypes=("int32", "int64", "int16"),
        domain=(1.0, 30.0),
        tolerance=Tolerance.EXACT,
        torch=torch_forms(_leaf),
        mindspore=mindspore_forms(
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
    torch=torch_forms("heaviside", keyword="input={x}, values={y}"),
    mindspore=mindspore_forms(
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
        else mindspore_forms(
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
                "inplace": inplace_needs_room(
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
                "primitive": Form(
                    "{self}({x}, {y}, {z}, Tensor([{value}], ms.float32))",
                    setup=(f"{{self}} = ops.{_leaf.capitalize()}()",),
                    dtypes=("float32",),
                    source=f"mindspore.ops.{_leaf.capitalize()}: input_data[i] + value[i] *"
                    f" (x1[i] {_sign} x2[i])",
                ),
            },
        ),
    )
_ternary(
    "lerp_tensor",
    attrs={},
    reference=lambda x, y, z: x + z * (y - x),
    torch=torch_forms(
        "lerp",
        "{x}, {y}, {z}",
        keyword="input={x}, end={y}, weight={z}",
        composed=Form(
            "{x} + {z} * ({y} - {x})", source="torch.lerp: start + weight * (end - start)"
        ),
    ),
    mindspore=mindspore_forms(
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
    torch=torch_forms(
        "lerp",
        "{x}, {y}, {weight}",
        keyword="input={x}, end={y}, weight={weight}",
        composed=Form(
            "{x} + {weight} * ({y} - {x})", source="torch.lerp: start + weight * (end - start)"
        ),
    ),
    mindspore=mindspore_forms(
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
