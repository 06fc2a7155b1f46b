"""New tensors of the shape of another: zeros, ones, one number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import FLOATS, INTEGERS, Dense, Type, is_float, numpy_dtype
from engine.ops.families import ELEMENTWISE_SHAPES, Array, Forms, cpu_refuses, no_bfloat16
from engine.ops.spec import Form, OpCall, Tolerance, op

_ALL = (*FLOATS, *INTEGERS, "bool")
_DTYPES: tuple[Attr, ...] = (None, "float32", "int64", "float16", "bool")
_SAME = {"dtype": None}


def like_type(call: OpCall) -> Type:
    """The shape of the operand, in its own dtype unless one is given."""
    x = call["x"]
    dtype = call.attr("dtype")
    return Dense(x.dtype if dtype is None else str(dtype), x.shape)


def _filled(x: Array, value: float, dtype: str | None) -> object:
    return np.full(x.shape, value, x.dtype if dtype is None else numpy_dtype(dtype))


def _like(leaf: str, number: int) -> None:
    """zeros_like and ones_like."""
    short = leaf.removesuffix("_like")
    camel = f"{short.capitalize()}Like"
    torch: Forms = {
        "function": Form(f"torch.{leaf}({{x}}, dtype={{dtype}})", api=f"torch.{leaf}"),
        "keyword": Form(
            f"torch.{leaf}(input={{x}}, dtype={{dtype}})", source=f"torch.{leaf}: names"
        ),
        "default": Form(f"torch.{leaf}({{x}})", when=_SAME, source=f"torch.{leaf}: dtype=None"),
        "method": Form(
            f"{{x}}.new_{short}({{x}}.shape)",
            when=_SAME,
            source=f"torch.Tensor.new_{short}: same dtype and device",
        ),
        "composed": Form(
            f"torch.{short}({{x}}.shape, dtype={{x}}.dtype)",
            when=_SAME,
            source=f"torch.{leaf}: torch.{short}(input.size(), dtype=input.dtype)",
        ),
    }
    mindspore: Forms = {
        "function": Form(f"ops.{leaf}({{x}}, dtype={{dtype}})", api=f"ops.{leaf}"),
        "keyword": Form(
            f"ops.{leaf}(input={{x}}, dtype={{dtype}})", source=f"mindspore.ops.{leaf}: names"
        ),
        "default": Form(
            f"ops.{leaf}({{x}})", when=_SAME, source=f"mindspore.ops.{leaf}: dtype=None"
        ),
        "mint": Form(
            f"mint.{leaf}({{x}}, dtype={{dtype}})",
            source=f"mindspore.mint.{leaf}: filled, with the size of input",
        ),
        "primitive": Form(
            "{self}({x})",
            setup=(f"{{self}} = ops.{camel}()",),
            when=_SAME,
            source=f"mindspore.ops.{camel}: same shape and data type as the input",
        ),
        "composed": Form(
            f"ops.{short}({{x}}.shape, dtype={{x}}.dtype)",
            when=_SAME,
            source=f"mindspore.ops.{short}(size, dtype)",
        ),
    }
    op(
        leaf,
        "x",
        attrs={"dtype": _DTYPES},
        infer=like_type,
        reference=lambda x, *, dtype: _filled(x, number, dtype),
        torch=torch,
        mindspore=mindspore,
        dtypes=_ALL,
        tolerance=Tolerance.EXACT,
        shapes=ELEMENTWISE_SHAPES,
        tags=("creation", "shape-preserving"),
        differentiable=False,
        limits=(cpu_refuses("OnesLike", "bfloat16"),) if number else (),
    )


_like("zeros_like", 0)
_like("ones_like", 1)


def value_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    value = call.attr("value")
    yield (
        is_float(call["x"].dtype) or isinstance(value, int),
        f"value {value} does not fit {call['x'].dtype}",
    )


op(
    "full_like",
    "x",
    attrs={"value": (1.5, 2, -3.0, 0, float("inf"), float("nan"))},
    infer=lambda call: Dense(call["x"].dtype, call["x"].shape),
    requires=value_fits,
    reference=lambda x, *, value: _filled(x, value, None),
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.EXACT,
    shapes=ELEMENTWISE_SHAPES,
    tags=("creation", "shape-preserving"),
    differentiable=False,
    limits=no_bfloat16(FLOATS),
    torch={
        "function": Form("torch.full_like({x}, {value})", api="torch.full_like"),
        "keyword": Form(
            "torch.full_like(input={x}, fill_value={value})", source="torch.full_like: names"
        ),
        "method": Form(
            "{x}.new_full({x}.shape, {value})", source="torch.Tensor.new_full: same dtype"
        ),
        "composed": Form(
            "torch.full({x}.shape, {value}, dtype={x}.dtype)",
            source="torch.full_like: torch.full(input.size(), fill_value, dtype=input.dtype)",
        ),
        "inplace": Form(
            "torch.empty_like({x}).fill_({value})", source="torch.Tensor.fill_: fills self"
        ),
    },
    mindspore={
        "function": Form("ops.full_like({x}, {value})", api="ops.full_like"),
        "keyword": Form(
            "ops.full_like(input={x}, fill_value={value})", source="mindspore.ops.full_like: names"
        ),
        "composed": Form(
            "ops.full({x}.shape, {value}, dtype={x}.dtype)",
            source="mindspore.ops.full(size, fill_value, dtype)",
        ),
        "mint": Form(
            "mint.full({x}.shape, {value}, dtype={x}.dtype)",
            source="mindspore.mint.full(size, fill_value, dtype)",
        ),
    },
)
