"""Statements that write into their first operand and yield its next version.

PyTorch has a method for each and lets operators and assignments do the same. MindSpore documents
assignment to an index for every platform. Its methods name Ascend or nothing: of those that name
nothing, the ones that its CPU backend has are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy import special

from engine.ir.graph import Attr, Input
from engine.ir.types import FLOATS, Dense, is_float
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    Array,
    Forms,
    broadcast_shape,
    companion,
    lifted,
    no_bfloat16,
    same_type,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_USUAL = (*FLOATS, "int32", "int64")
_SAVED = (
    "Autograd mechanics, in-place correctness checks: what backward needs may not be overwritten"
)
_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")
# What a page says that promises no write: the oracles accuse nobody of lacking it.
_OTHER_PAGES = {"sub_": "for details, see mindspore.mint.sub()"}
Companions = Callable[[Dense, Mapping[str, Attr]], Mapping[str, Input | tuple[Input, ...]]]


def fits_receiver(call: OpCall) -> Iterator[tuple[bool, str]]:
    """What is written has the shape of the receiver; numbers have its kind."""
    x = call["x"]
    shapes = [one.shape for one in call.types.values() if isinstance(one, Dense)]
    yield broadcast_shape(shapes) == x.shape, "the other operands must broadcast to the receiver"
    numbers = [one for one in call.attrs.values() if isinstance(one, float)]
    yield is_float(x.dtype) or not numbers, f"{x.dtype} cannot hold {numbers}"


def _statement(text: str, source: str, dtypes: tuple[str, ...] | None = None) -> Form:
    """A statement on the receiver, which is then the result."""
    return Form("{x}", before=(text,), source=source, dtypes=dtypes)


def _inplace(
    name: str,
    expression: str,
    reference: Callable[..., object],
    *,
    operands: str = "x",
    args: str = "",
    attrs: dict[str, tuple[Attr, ...]] | None = None,
    augmented: str = "",
    method: str = "",
    torch: Forms | None = None,
    mindspore_expression: str,
    mindspore_method: bool = False,
    mindspore_dtypes: tuple[str, ...] | None = None,
    companions: Companions | None = None,
    dtypes: tuple[str, ...] = FLOATS,
    domain: tuple[float, float] = (-2.0, 2.0),
    tolerance: Tolerance = Tolerance.ELEMENTWISE,
    requires: Callable[[OpCall], Iterator[tuple[bool, str]]] = fits_receiver,
    saves: bool = False,
) -> None:
    """`name` ends in "_"; `expression` is what it assigns, `augmented` its augmented operator.

    `saves`: the derivative of the expression needs its `{x}`, which the assignment overwrites.
    """
    leaf = method or name
    plain = leaf.removesuffix("_")
    written = f"{{x}}.{leaf}({args})"
    saved = _SAVED if saves else ""
    forms: dict[str, str | Form] = {
        "method": Form(written),
        "inplace": _statement(written, f"torch.Tensor.{leaf}: returns self"),
        "inplace_assign": Form(
            "{x}",
            before=(f"{{x}}[...] = {expression}",),
            source=f"torch.Tensor.{leaf}: in-place version of {plain}()",
            no_gradient=saved,
        ),
    }
    if "{x}" in expression:
        forms["inplace_copy"] = Form(
            f"{{x}}.copy_({expression})",
            source="torch.Tensor.copy_: copies into self, returns it",
            no_gradient=saved,
        )
    if augmented:
        forms["operator"] = _statement(
            f"{{x}} {augmented}", f"torch.Tensor: {augmented.split('=')[0]}= is {leaf}"
        )
    allowed = mindspore_dtypes or (_MINDSPORE_USUAL if "int32" in dtypes else MINDSPORE_FLOATS)
    mindspore: dict[str, str | Form] = {
        "inplace_assign": _statement(
            f"{{x}}[...] = {mindspore_expression}",
            "mindspore.Tensor.__setitem__: assigns to the elements of the tensor",
            allowed,
        )
    }
    if mindspore_method:
        page = _OTHER_PAGES.get(leaf, f"in-place version of Tensor.{plain}()")
        source = f"mindspore.Tensor.{leaf}: {page}"
        mindspore["method"] = Form(written, dtypes=allowed, source=source)
        mindspore["inplace"] = _statement(written, source, allowed)
    op(
        name,
        operands,
        attrs=attrs,
        infer=same_type,
        requires=requires,
        reference=lifted(reference),
        torch={**forms, **(torch or {})},
        mindspore=mindspore,
        dtypes=dtypes,
        tolerance=tolerance,
        domain=domain,
        companions=companions,
        shapes=ELEMENTWISE_SHAPES,
        tags=("inplace", "elementwise", "shape-preserving"),
        writes="x",
        limits=no_bfloat16(dtypes),
    )


def _arithmetic(
    leaf: str,
    symbol: str,
    rule: Callable[..., object],
    *,
    values: tuple[Attr, ...],
    dtypes: tuple[str, ...] = _USUAL,
    domain: tuple[float, float] = (-2.0, 2.0),
    mindspore_method: bool = False,
    saves: tuple[bool, bool] = (False, False),
) -> None:
    """A statement with a tensor, and the same with a number as the row `leaf`_scalar_; `saves` is
    that of the two."""
    _inplace(
        f"{leaf}_",
        f"{{x}} {symbol} {{y}}",
        rule,
        operands="x y",
        args="{y}",
        augmented=f"{symbol}= {{y}}",
        mindspore_expression=f"{{x}} {symbol} {{y}}",
        mindspore_method=mindspore_method,
        companions=companion("y", domain=domain),
        dtypes=dtypes,
        domain=domain,
        saves=saves[0],
    )
    _inplace(
        f"{leaf}_scalar_",
        f"{{x}} {symbol} {{value}}",
        lambda x, *, value: rule(x, x.dtype.type(value)),
        method=f"{leaf}_",
        args="{value}",
        attrs={"value": values},
        augmented=f"{symbol}= {{value}}",
        mindspore_expression=f"{{x}} {symbol} {{value}}",
        mindspore_method=mindspore_method,
        dtypes=dtypes,
        domain=domain,
        saves=saves[1],
    )


_arithmetic("add", "+", np.add, values=(1.5, 2, -0.5), mindspore_method=True)
_arithmetic("sub", "-", np.subtract, values=(1.5, 2, -0.5), mindspore_method=True)
_arithmetic("mul", "*", np.multiply, values=(1.5, 2, -0.5, 0), saves=(True, False))
_arithmetic(
    "div",
    "/",
    np.divide,
    values=(2.0, 0.5),
    dtypes=FLOATS,
    domain=(0.5, 4.0),
    mindspore_method=True,
    saves=(True, False),
)
_arithmetic(
    "pow",
    "**",
    np.power,
    values=(2, 0.5, 3),
    dtypes=FLOATS,
    domain=(0.3, 3.0),
    saves=(True, True),
)

for _name, _expression, _mindspore_expression, _unary, _domain, _documented in (
    ("neg_", "-{x}", "-{x}", np.negative, (-2.0, 2.0), False),
    ("abs_", "{x}.abs()", "ops.abs({x})", np.abs, (-2.0, 2.0), False),
    ("exp_", "{x}.exp()", "ops.exp({x})", np.exp, (-2.0, 2.0), True),
    ("log_", "{x}.log()", "ops.log({x})", np.log, (0.1, 4.0), False),
    ("sqrt_", "{x}.sqrt()", "ops.sqrt({x})", np.sqrt, (0.1, 4.0), False),
    ("sin_", "{x}.sin()", "ops.sin({x})", np.sin, (-2.0, 2.0), False),
    ("tanh_", "{x}.tanh()", "ops.tanh({x})", np.tanh, (-2.0, 2.0), False),
    ("sigmoid_", "{x}.sigmoid()", "ops.sigmoid({x})", special.expit, (-2.0, 2.0), False),
    ("floor_", "{x}.floor()", "ops.floor({x})", np.floor, (-3.9, 3.9), False),
    ("round_", "{x}.round()", "ops.round({x})", np.round, (-3.9, 3.9), False),
):
    _inplace(
        _name,
        _expression,
        _unary,
        torch={
            "function": Form(f"torch.{_name}({{x}})", source=f"torch.{_name}: in-place version")
        },
        mindspore_expression=_mindspore_expression,
        mindspore_method=_documented,
        domain=_domain,
        tolerance=Tolerance.TRANSCENDENTAL,
        saves=_name in ("abs_", "log_", "sin_"),
    )
_inplace(
    "relu_",
    "{x}.relu()",
    lambda x: np.maximum(x, x.dtype.type(0)),
    torch={
        "function": Form("torch.relu_({x})", source="torch.relu_: in-place version of relu()"),
        "function_functional": Form("F.relu_({x})", source="F.relu_: in-place version of relu()"),
        "keyword": Form("F.relu({x}, inplace=True)", source="F.relu: inplace=False"),
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.ReLU(inplace=True)",),
            source="torch.nn.ReLU: inplace=False",
        ),
    },
    mindspore_expression="ops.relu({x})",
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
)


def clamp(x: Array, *, min: float | None, max: float | None) -> object:  # noqa: A002
    held = x if min is None else np.maximum(x, x.dtype.type(min))
    return held if max is None else np.minimum(held, x.dtype.type(max))


def bounds_fit(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from fits_receiver(call)
    given = [call.attr("min"), call.attr("max")]
    yield any(one is not None for one in given), "min and max are both left out"


_inplace(
    "clamp_",
    "torch.clamp({x}, {min}, {max})",
    clamp,
    args="{min}, {max}",
    attrs={"min": (-1.0, None, 0), "max": (1.0, None, 1)},
    requires=bounds_fit,
    torch={
        "function": Form("torch.clamp_({x}, {min}, {max})", source="torch.clamp_: in-place version")
    },
    mindspore_expression="ops.clamp({x}, {min}, {max})",
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    saves=True,
)
_inplace(
    "copy_",
    "{y}",
    lambda x, y: np.broadcast_to(y, x.shape).copy(),
    operands="x y",
    args="{y}",
    mindspore_expression="{y}",
    companions=companion("y"),
    dtypes=(*_USUAL, "bool"),
    tolerance=Tolerance.EXACT,
)
_inplace(
    "fill_",
    "{value}",
    lambda x, *, value: np.full_like(x, value),
    args="{value}",
    attrs={"value": (1.5, 2, -3.0, 0)},
    mindspore_expression="{value}",
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
)
_inplace(
    "zero_",
    "0",
    lambda x: np.zeros_like(x),
    mindspore_expression="0",
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
)
_inplace(
    "masked_fill_",
    "{x}.masked_fill({mask}, {value})",
    lambda x, mask, *, value: np.where(mask, x.dtype.type(value), x),
    operands="x mask:bool",
    args="{mask}, {value}",
    attrs={"value": (0.0, 2, -1.5)},
    torch={
        "inplace_index": _statement(
            "{x}[{mask}] = {value}", "torch.Tensor.index_put_: assigns where the mask is true"
        )
    },
    mindspore_expression="{x}.masked_fill({mask}, {value})",
    companions=companion("mask", dtype="bool"),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
)
_inplace(
    "lerp_",
    "torch.lerp({x}, {y}, {weight})",
    lambda x, y, *, weight: x + x.dtype.type(weight) * (y - x),
    operands="x y",
    args="{y}, {weight}",
    attrs={"weight": (0.25, 1.0, 0.0)},
    mindspore_expression="ops.lerp({x}, {y}, {weight})",
    mindspore_dtypes=("float16", "float32"),
    companions=companion("y"),
)
_inplace(
    "addcmul_",
    "torch.addcmul({x}, {y}, {z}, value={value})",
    lambda x, y, z, *, value: x + x.dtype.type(value) * y * z,
    operands="x y z",
    args="{y}, {z}, value={value}",
    attrs={"value": (1, 0.5)},
    mindspore_expression="ops.addcmul({x}, {y}, {z}, {value})",
    companions=companion("y", "z"),
)
