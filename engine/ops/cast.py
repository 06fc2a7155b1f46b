"""Changes of dtype. Numbers that the new dtype cannot hold are undefined and stay out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.ir.types import FLOATS, INTEGERS, Dense, Type, is_float, numpy_dtype
from engine.ops.families import ELEMENTWISE_SHAPES, Array, companion
from engine.ops.spec import Form, OpCall, Tolerance, op

_ALL = (*FLOATS, *INTEGERS, "bool")
_TORCH_NAMES = {
    "float32": "float",
    "float16": "half",
    "float64": "double",
    "bfloat16": "bfloat16",
    "int64": "long",
    "int32": "int",
    "int16": "short",
    "int8": "char",
    "uint8": "byte",
    "bool": "bool",
}
_MINDSPORE_NAMES = {
    "float32": "float",
    "float16": "half",
    "float64": "double",
    "int64": "long",
    "int32": "int",
    "int16": "short",
    "uint8": "byte",
    "bool": "bool",
}


def cast_type(call: OpCall) -> Type:
    return Dense(str(call.attr("dtype")), call["x"].shape)


def cast_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    """A cast to the tensor's own dtype is the tensor itself in some forms and a copy in others."""
    yield call["x"].dtype != call.attr("dtype"), f"the tensor is {call['x'].dtype} already"
    yield (
        not (is_float(call["x"].dtype) and call.attr("dtype") == "uint8"),
        "negative floating numbers have no value in uint8",
    )


def cast(x: Array, *, dtype: str) -> object:
    """The values in the dtype: fractions are cut, anything but zero is true."""
    if dtype == "bool":
        return x != 0
    with np.errstate(all="ignore"):
        return x.astype(numpy_dtype(dtype))


op(
    "cast",
    "x",
    attrs={
        "dtype": (
            "float32",
            "float16",
            "float64",
            "int64",
            "int32",
            "bool",
            "bfloat16",
            "int16",
            "int8",
            "uint8",
        )
    },
    infer=cast_type,
    requires=cast_fits,
    reference=cast,
    dtypes=_ALL,
    tolerance=Tolerance.ELEMENTWISE,
    domain=(-3.9, 3.9),
    shapes=ELEMENTWISE_SHAPES,
    tags=("cast",),
    torch={
        "function": Form("{x}.to({dtype})", api="torch.Tensor.to"),
        "keyword": Form("{x}.to(dtype={dtype})", source="torch.Tensor.to(dtype)"),
        "keyword_copy": Form(
            "{x}.to({dtype}, copy=True)", source="torch.Tensor.to: copy makes a new tensor"
        ),
        "method": Form("{x}.type({dtype})", source="torch.Tensor.type: casts to dtype"),
        **{
            f"method_{name}": Form(
                f"{{x}}.{name}()",
                when={"dtype": dtype},
                source=f"torch.Tensor.{name}: equivalent to to(torch.{dtype})",
            )
            for dtype, name in _TORCH_NAMES.items()
        },
    },
    mindspore={
        "function": Form("ops.cast({x}, {dtype})", api="ops.cast"),
        "keyword": Form("ops.cast(input={x}, dtype={dtype})", source="mindspore.ops.cast: names"),
        "method": Form("{x}.astype({dtype})", source="mindspore.Tensor.astype: casts a copy"),
        "method_to": Form(
            "{x}.to({dtype})", source="mindspore.Tensor.to: a tensor with the specified type"
        ),
        "method_type": Form("{x}.type({dtype})", source="mindspore.Tensor.type: changes the dtype"),
        "primitive": Form(
            "{self}({x}, {dtype})",
            setup=("{self} = ops.Cast()",),
            source="mindspore.ops.Cast: a tensor with the specified data type",
        ),
        **{
            f"method_{name}": Form(
                f"{{x}}.{name}()",
                when={"dtype": dtype},
                source=f"mindspore.Tensor.{name}: converts to {dtype}",
            )
            for dtype, name in _MINDSPORE_NAMES.items()
        },
    },
)


def like_type(call: OpCall) -> Type:
    return Dense(call["like"].dtype, call["x"].shape)


def like_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    wanted = call["like"].dtype
    yield call["x"].dtype != wanted, f"the tensor is {wanted} already"
    yield wanted in _ALL, f"{wanted} is not a dtype to cast to"
    yield (
        not (is_float(call["x"].dtype) and wanted == "uint8"),
        "negative floating numbers have no value in uint8",
    )


op(
    "cast_like",
    "x like:free",
    infer=like_type,
    requires=like_fits,
    reference=lambda x, like: x != 0 if like.dtype == np.bool_ else x.astype(like.dtype),
    dtypes=_ALL,
    tolerance=Tolerance.ELEMENTWISE,
    domain=(-3.9, 3.9),
    companions=lambda first, attrs: companion(
        "like", dtype="float32" if first.dtype == "float16" else "float16"
    )(first, attrs),
    shapes=ELEMENTWISE_SHAPES,
    tags=("cast",),
    torch={
        "function": Form("{x}.type_as({like})", api="torch.Tensor.type_as"),
        "method": Form("{x}.to({like})", source="torch.Tensor.to(other): other's dtype"),
        "composed": Form(
            "{x}.to({like}.dtype)", source="torch.Tensor.type_as: self.type(tensor.type())"
        ),
    },
    mindspore={
        "function": Form("{x}.type_as({like})", api="ms.Tensor.type_as"),
        "composed": Form(
            "{x}.astype({like}.dtype)", source="mindspore.Tensor.type_as: other's type"
        ),
        "composed_cast": Form(
            "ops.cast({x}, {like}.dtype)", source="mindspore.ops.cast: the dtype after conversion"
        ),
    },
)
