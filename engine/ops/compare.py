"""Comparisons, logic and bits: results are exact, and no gradient passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.ir.types import COMPLEX, FLOATS, INTEGERS
from engine.ops.arithmetic import inplace_needs_room
from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    NUMBERS,
    binary,
    bool_type,
    broadcastable,
    companion,
    compared_type,
    comparison,
    lifted,
    mindspore_calls,
    no_bfloat16,
    same_type,
    torch_calls,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_MINDSPORE_USUAL = (*MINDSPORE_FLOATS, "int32", "int64")
_logical: Callable[..., object]
_bits: Callable[..., object]
_shift: Callable[..., object]
_XY = "input={x}, other={y}"


def _compare(
    leaf: str,
    symbol: str,
    rule: Callable[..., object],
    *,
    mindspore_long: str,
    long: str = "",
    primitive: str,
    mint: tuple[str, ...],
    keyword: bool = True,
    bools: bool = False,
) -> None:
    """A comparison of two tensors, and its row against a number."""
    dtypes = (*NUMBERS, "bool", *(COMPLEX if bools else ()))
    operator = f"{{x}} {symbol} {{y}}"
    comparison(
        leaf,
        reference=rule,
        dtypes=dtypes,
        torch=torch_calls(
            f"torch.{leaf}",
            "{x}, {y}",
            keyword=_XY,
            inplace="",
            aliases=(f"torch.{long}",) if long else (),
            operator=Form(operator, source=f"torch.Tensor: x {symbol} y is torch.{leaf}(x, y)"),
            inplace_bool=inplace_needs_room(
                Form(
                    f"{{x}}.clone().{leaf}_({{y}}).bool()",
                    api=f"operand_x.{leaf}_",
                    source=f"torch.Tensor.{leaf}_: in-place version of {leaf}()",
                )
            ),
        ),
        mindspore=mindspore_calls(
            f"ops.{leaf}",
            "{x}, {y}",
            keyword=_XY if keyword else "",
            primitive=primitive,
            mint=mint,
            aliases=(f"ops.{mindspore_long}",),
            dtypes=(*_MINDSPORE_USUAL, *(("bool",) if bools else ())),
            method_long=Form(
                f"{{x}}.{mindspore_long}({{y}})",
                source=f"mindspore.Tensor.{mindspore_long}: for details, see"
                f" mindspore.ops.{mindspore_long}()",
            ),
            operator=Form(operator, source=f"mindspore.Tensor: x {symbol} y is ops.{leaf}(x, y)"),
        ),
    )
    with_number = f"{{x}} {symbol} {{value}}"
    op(
        f"{leaf}_scalar",
        "x",
        attrs={"value": (0.0, 1, -0.5)},
        infer=bool_type,
        reference=lifted(lambda x, *, value: rule(x, value)),
        dtypes=(*FLOATS, "int32", "int64"),
        tolerance=Tolerance.EXACT,
        shapes=ELEMENTWISE_SHAPES,
        tags=("elementwise", "comparison", "scalar"),
        differentiable=False,
        limits=no_bfloat16(FLOATS),
        torch=torch_calls(
            f"torch.{leaf}",
            "{x}, {value}",
            keyword="input={x}, other={value}",
            inplace="",
            operator=Form(with_number, source=f"torch.{leaf}: x {symbol} value"),
            tensor=Form(
                f"torch.{leaf}({{x}}, torch.tensor({{value}}))",
                source=f"torch.{leaf}: other is a tensor or a number",
            ),
        ),
        mindspore=mindspore_calls(
            f"ops.{leaf}",
            "{x}, {value}",
            keyword="input={x}, other={value}" if keyword else "",
            primitive=primitive,
            mint=mint[:1],
            dtypes=_MINDSPORE_USUAL,
            operator=Form(with_number, source=f"mindspore.ops.{leaf}: x {symbol} value"),
        ),
    )


_compare(
    "eq",
    "==",
    np.equal,
    mindspore_long="equal",
    primitive="Equal()",
    mint=("mint.eq",),
    bools=True,
)
_compare(
    "ne",
    "!=",
    np.not_equal,
    long="not_equal",
    mindspore_long="not_equal",
    primitive="NotEqual()",
    mint=("mint.ne",),
    bools=True,
)
_compare(
    "lt",
    "<",
    np.less,
    long="less",
    mindspore_long="less",
    primitive="Less()",
    mint=("mint.lt", "mint.less"),
)
_compare(
    "le",
    "<=",
    np.less_equal,
    long="less_equal",
    mindspore_long="less_equal",
    primitive="LessEqual()",
    mint=("mint.le", "mint.less_equal"),
)
_compare(
    "gt",
    ">",
    np.greater,
    long="greater",
    mindspore_long="greater",
    primitive="Greater()",
    mint=("mint.gt", "mint.greater"),
)
_compare(
    "ge",
    ">=",
    np.greater_equal,
    long="greater_equal",
    mindspore_long="greater_equal",
    primitive="GreaterEqual()",
    mint=("mint.ge",),
)

# ------------------------------------------------------------------------------------- closeness
op(
    "isclose",
    "x y",
    attrs={"rtol": (1e-5, 0.1, 0.0), "atol": (1e-8, 0.5), "equal_nan": (False, True)},
    infer=compared_type,
    requires=broadcastable,
    reference=lifted(lambda x, y, **how: np.isclose(x, y, **how)),
    dtypes=("float32", "float64", "int32", "int64"),
    tolerance=Tolerance.EXACT,
    companions=companion("y"),
    shapes=ELEMENTWISE_SHAPES,
    tags=("elementwise", "binary", "comparison"),
    differentiable=False,
    torch=torch_calls(
        "torch.isclose",
        "{x}, {y}, {rtol}, {atol}, {equal_nan}",
        keyword="input={x}, other={y}, rtol={rtol}, atol={atol}, equal_nan={equal_nan}",
        inplace="",
        default=Form(
            "torch.isclose({x}, {y})",
            when={"rtol": 1e-5, "atol": 1e-8, "equal_nan": False},
            source="torch.isclose: rtol=1e-05, atol=1e-08, equal_nan=False",
        ),
    ),
    mindspore=mindspore_calls(
        "ops.isclose",
        "{x}, {y}, {rtol}, {atol}, {equal_nan}",
        keyword="input={x}, other={y}, rtol={rtol}, atol={atol}, equal_nan={equal_nan}",
        mint="mint.isclose",
        primitive_made=Form(
            "{self}({x}, {y})",
            setup=("{self} = ops.IsClose({rtol}, {atol}, {equal_nan})",),
            source="mindspore.ops.IsClose: refer to mindspore.ops.isclose for more details",
        ),
        dtypes=("float32", "float64", "int32", "int64"),
        default=Form(
            "ops.isclose({x}, {y})",
            when={"rtol": 1e-5, "atol": 1e-8, "equal_nan": False},
            source="mindspore.ops.isclose: rtol=1e-05, atol=1e-08, equal_nan=False",
        ),
    ),
)

# ----------------------------------------------------------------------------------------- logic
_BITWISE = {"and": "&", "or": "|", "xor": "^"}
for _word, _logical, _bits in (
    ("and", np.logical_and, np.bitwise_and),
    ("or", np.logical_or, np.bitwise_or),
    ("xor", np.logical_xor, np.bitwise_xor),
):
    comparison(
        f"logical_{_word}",
        reference=_logical,
        dtypes=("bool", "int32", "int64", *FLOATS),
        torch=torch_calls(
            f"torch.logical_{_word}",
            "{x}, {y}",
            keyword=_XY,
            inplace=f"{{x}}.clone().logical_{_word}_({{y}})",
            inplace_dtypes=("bool",),
            operator=Form(
                f"{{x}} {_BITWISE[_word]} {{y}}",
                dtypes=("bool",),
                source=f"torch.bitwise_{_word}: for bool tensors, the logical {_word}",
            ),
        ),
        mindspore=mindspore_calls(
            f"ops.logical_{_word}",
            "{x}, {y}",
            keyword=_XY,
            primitive=f"Logical{_word.capitalize()}()",
            mint=f"mint.logical_{_word}",
            dtypes=("bool", "int32", "int64", *MINDSPORE_FLOATS),
        ),
        tags=("bool",),
    )
    binary(
        f"bitwise_{_word}",
        reference=_bits,
        dtypes=(*INTEGERS, "bool"),
        domain=(0.0, 15.0),
        tolerance=Tolerance.EXACT,
        torch=torch_calls(
            f"torch.bitwise_{_word}",
            "{x}, {y}",
            keyword=_XY,
            inplace="",
            operator=Form(
                f"{{x}} {_BITWISE[_word]} {{y}}", source=f"torch.bitwise_{_word}: the operator"
            ),
            inplace_room=inplace_needs_room(
                Form(
                    f"{{x}}.clone().bitwise_{_word}_({{y}})",
                    source=f"torch.Tensor.bitwise_{_word}_: in-place version of bitwise_{_word}()",
                )
            ),
            composed=Form(
                f"torch.bitwise_{_word}({{y}}, {{x}})", source=f"bitwise {_word} commutes"
            ),
        ),
        mindspore=mindspore_calls(
            f"ops.bitwise_{_word}",
            "{x}, {y}",
            keyword=_XY,
            primitive=f"Bitwise{_word.capitalize()}()",
            dtypes=(*INTEGERS, "bool"),
            operator=Form(
                f"{{x}} {_BITWISE[_word]} {{y}}",
                source=f"mindspore.Tensor: the operator {_BITWISE[_word]}, ops.bitwise_{_word}",
            ),
        ),
        tags=("bitwise",),
        differentiable=False,
    )


# ---------------------------------------------------------------------------------------- shifts
def shift_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield call["x"].shape == call["y"].shape, "the shifts must have the shape of the tensor"


for _word, _symbol, _shift in (
    ("left", "<<", np.left_shift),
    ("right", ">>", np.right_shift),
):
    op(
        f"bitwise_{_word}_shift",
        "x y",
        infer=same_type,
        requires=shift_fits,
        reference=_shift,
        dtypes=INTEGERS,
        tolerance=Tolerance.EXACT,
        domain=(0.0, 20.0),
        companions=companion("y", domain=(0.0, 2.0)),
        shapes=ELEMENTWISE_SHAPES,
        tags=("elementwise", "binary", "bitwise", "shape-preserving"),
        differentiable=False,
        torch=torch_calls(
            f"torch.bitwise_{_word}_shift",
            "{x}, {y}",
            keyword=_XY,
            operator=Form(f"{{x}} {_symbol} {{y}}", source=f"torch.bitwise_{_word}_shift"),
        ),
        mindspore=mindspore_calls(
            f"ops.bitwise_{_word}_shift",
            "{x}, {y}",
            keyword=_XY,
            primitive=f"{_word.capitalize()}Shift()",
            dtypes=INTEGERS,
        ),
    )
