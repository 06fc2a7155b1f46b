"""What can be asked of two tensors, or of a tensor and a dtype, answered as a tensor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.ir.graph import Attr, Input
from engine.ir.types import COMPLEX, FLOATS, INTEGERS, Dense, numpy_dtype
from engine.ops.families import Array, broadcastable, companion, lifted
from engine.ops.operands import beside
from engine.ops.promotion import mixes_with_masks, promoted_dtype
from engine.ops.rules import limited, resized, static
from engine.ops.spec import Form, OpCall, Tolerance, op

_WIDE = ("float32", "float64")
_USUAL = (*_WIDE, "int32", "int64")
_SHAPES = ((2, 3, 4), (5,), (1, 1))


def one_bool(call: OpCall) -> Dense:
    return Dense("bool", ())


# ------------------------------------------------------------------------------------- closeness
_CLOSE = "{rtol}, {atol}, {equal_nan}"
_CLOSE_NAMED = "rtol={rtol}, atol={atol}, equal_nan={equal_nan}"
_CLOSE_DEFAULT: Mapping[str, Attr] = {"rtol": 1e-5, "atol": 1e-8, "equal_nan": False}
op(
    "allclose",
    "x y",
    attrs={"rtol": (1e-5, 9.0, 0.0), "atol": (1e-8, 5.0), "equal_nan": (False, True)},
    infer=one_bool,
    requires=broadcastable,
    reference=lifted(lambda x, y, **how: np.asarray(np.allclose(x, y, **how))),
    dtypes=_USUAL,
    tolerance=Tolerance.EXACT,
    companions=companion("y"),
    shapes=_SHAPES,
    tags={"query", "comparison"},
    differentiable=False,
    torch={
        "function": Form(
            f"torch.tensor(torch.allclose({{x}}, {{y}}, {_CLOSE}))", api="torch.allclose"
        ),
        "method": Form(
            f"torch.tensor({{x}}.allclose({{y}}, {_CLOSE}))",
            source="torch.Tensor.allclose: see torch.allclose()",
        ),
        "keyword": Form(
            f"torch.tensor(torch.allclose(input={{x}}, other={{y}}, {_CLOSE_NAMED}))",
            source="torch.allclose: names",
        ),
        "default": Form(
            "torch.tensor(torch.allclose({x}, {y}))",
            when=_CLOSE_DEFAULT,
            source="torch.allclose: rtol=1e-05, atol=1e-08, equal_nan=False",
        ),
        "composed": Form(
            f"torch.isclose({{x}}, {{y}}, {_CLOSE}).all()",
            source="torch.allclose: the condition of isclose(), elementwise, for all elements",
        ),
    },
    mindspore=limited(
        _USUAL,
        {
            "mint": Form(
                f"ops.scalar_to_tensor(mint.allclose({{x}}, {{y}}, {_CLOSE}), ms.bool_)",
                api="mint.allclose",
            ),
            "method": Form(
                f"ops.scalar_to_tensor({{x}}.allclose({{y}}, {_CLOSE}), ms.bool_)",
                api="operand_x.allclose",
                source="mindspore.Tensor.allclose: |self-other| <= atol + rtol x |other|",
            ),
            "keyword": Form(
                f"ops.scalar_to_tensor(mint.allclose(input={{x}}, other={{y}}, {_CLOSE_NAMED}),"
                " ms.bool_)",
                api="mint.allclose",
                source="mindspore.mint.allclose: names",
            ),
            "default": Form(
                "ops.scalar_to_tensor(mint.allclose({x}, {y}), ms.bool_)",
                api="mint.allclose",
                when=_CLOSE_DEFAULT,
                source="mindspore.mint.allclose: rtol=1e-05, atol=1e-08, equal_nan=False",
            ),
            "composed": Form(
                f"ops.all(ops.isclose({{x}}, {{y}}, {_CLOSE}))",
                source="mindspore.mint.allclose: whether each element is close to the other's",
            ),
        },
    ),
)
op(
    "equal_all",
    "x y",
    infer=one_bool,
    requires=lambda call: ((call["x"].shape == call["y"].shape, "the shapes differ"),),
    reference=lambda x, y: np.asarray(np.array_equal(x, y)),
    dtypes=(*_USUAL, "bool", *COMPLEX),
    tolerance=Tolerance.EXACT,
    companions=companion("y"),
    shapes=_SHAPES,
    tags={"query", "comparison"},
    differentiable=False,
    torch={
        "function": Form("torch.tensor(torch.equal({x}, {y}))", api="torch.equal"),
        "method": Form(
            "torch.tensor({x}.equal({y}))", source="torch.Tensor.equal: see torch.equal()"
        ),
        "composed": Form(
            "({x} == {y}).all()", source="torch.equal: True if the same size and elements"
        ),
    },
    mindspore=limited(
        (*_USUAL, "bool"),
        {
            "composed": "ops.all({x} == {y})",
            "composed_ne": Form(
                "ops.logical_not(ops.any(ops.not_equal({x}, {y})))",
                source="mindspore.ops.not_equal: whether two inputs are not equal element-wise",
            ),
        },
    ),
)


# -------------------------------------------------------------------------------- membership
def tested(x: Dense, attrs: Mapping[str, Attr]) -> Mapping[str, Input]:
    return {"y": beside("y", Dense(x.dtype, (4,)), 71)}


op(
    "isin",
    "x y",
    attrs={"invert": (False, True)},
    infer=lambda call: resized(call["x"], static(call["x"]), "bool"),
    reference=lambda x, y, *, invert: np.isin(x, y, invert=invert),
    dtypes=(*_USUAL, "int8", "int16", "uint8"),
    tolerance=Tolerance.EXACT,
    companions=tested,
    domain=(-3.0, 3.0),
    shapes=_SHAPES,
    tags={"comparison"},
    differentiable=False,
    torch={
        "function": "torch.isin({x}, {y}, invert={invert})",
        "keyword": Form(
            "torch.isin(elements={x}, test_elements={y}, assume_unique=False, invert={invert})",
            source="torch.isin: assume_unique=False",
        ),
        "default": Form(
            "torch.isin({x}, {y})", when={"invert": False}, source="torch.isin: invert=False"
        ),
        "composed": Form(
            "({x}[..., None] == {y}.flatten()).any(-1)",
            when={"invert": False},
            source="torch.isin: tests if each element of elements is in test_elements",
        ),
    },
    mindspore=limited(
        _USUAL,
        {
            "composed": Form(
                "ops.any({x}[..., None] == {y}.reshape(-1), axis=-1)", when={"invert": False}
            ),
            "composed_invert": Form(
                "ops.all({x}[..., None] != {y}.reshape(-1), axis=-1)", when={"invert": True}
            ),
        },
    ),
)


# ------------------------------------------------------------------------------------- promotion
_DTYPES = (*FLOATS, *INTEGERS, "bool")
op(
    "result_type",
    "x y:mixed",
    infer=lambda call: Dense(promoted_dtype(call["x"].dtype, call["y"].dtype), ()),
    requires=mixes_with_masks,
    reference=lambda x, y: np.zeros((), numpy_dtype(promoted_dtype(x.dtype.name, y.dtype.name))),
    dtypes=_DTYPES,
    tolerance=Tolerance.EXACT,
    companions=companion("y"),
    shapes=_SHAPES,
    tags={"query"},
    differentiable=False,
    torch={
        "function": Form(
            "torch.zeros((), dtype=torch.result_type({x}, {y}))", api="torch.result_type"
        ),
        "keyword": Form(
            "torch.zeros((), dtype=torch.result_type(tensor={x}, other={y}))",
            source="torch.result_type: tensor1 and tensor2, an input tensor or number",
        ),
        "function_promote": Form(
            "torch.zeros((), dtype=torch.promote_types({x}.dtype, {y}.dtype))",
            source="torch.promote_types: not smaller nor of lower kind than either type",
        ),
    },
    mindspore=limited(
        tuple(one for one in _DTYPES if one not in ("bfloat16", "bool")),
        {"composed": "ops.zeros((), ({x}.reshape(-1)[0] + {y}.reshape(-1)[:1]).dtype)"},
    ),
    doc="The dtype of the answer is the answer.",
)


def castable(x: Array, *, to_dtype: str) -> object:
    """Complex numbers stay complex, floats are no integers, and only bool becomes bool."""
    name = x.dtype.name
    order = [("bool",), INTEGERS, FLOATS, (*COMPLEX, "complex128")]
    kinds = [next(at for at, kind in enumerate(order) if one in kind) for one in (name, to_dtype)]
    return np.asarray(kinds[0] <= kinds[1])


op(
    "can_cast",
    "x",
    attrs={"to_dtype": ("float32", "int64", "bool", "complex64", "uint8", "float16")},
    infer=one_bool,
    reference=castable,
    dtypes=(*_DTYPES, *COMPLEX),
    tolerance=Tolerance.EXACT,
    shapes=_SHAPES,
    tags={"query"},
    differentiable=False,
    torch={
        "function": Form(
            "torch.tensor(torch.can_cast({x}.dtype, {to_dtype}))", api="torch.can_cast"
        ),
        "keyword": Form(
            "torch.tensor(torch.can_cast(from_={x}.dtype, to={to_dtype}))",
            source="torch.can_cast: names",
        ),
    },
    mindspore=None,
)
