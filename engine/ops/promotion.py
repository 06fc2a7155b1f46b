"""Operands of two dtypes: which one the result has.

Both frameworks promote alike where both tensors have axes; a tensor without axes yields to one with
them in PyTorch alone, so that mixing one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from engine.ir.types import COMPLEX, INTEGERS, Dense, Type, is_float, numpy_dtype
from engine.ops.families import broadcast_shape, lifted
from engine.ops.spec import OpCall

__all__ = [
    "mixed_quotient_type",
    "mixed_reference",
    "mixed_type",
    "mixes",
    "mixes_with_masks",
    "promoted_dtype",
]


def promoted_dtype(first: str, second: str) -> str:
    """The dtype of an element-wise result, as torch.result_type and MindSpore's table say."""
    if first == second:
        return first
    if _rank(first) != _rank(second):
        return max(first, second, key=_rank)
    pair = {first, second}
    if pair == {"float16", "bfloat16"}:
        return "float32"
    if pair == {"int8", "uint8"}:
        return "int16"
    return max(first, second, key=_bits)


def _rank(dtype: str) -> int:
    if dtype in COMPLEX:
        return 3
    return 2 if is_float(dtype) else 1 if dtype in INTEGERS else 0


def _bits(dtype: str) -> int:
    return 8 * numpy_dtype(dtype).itemsize


def mixes_with_masks(call: OpCall) -> Iterator[tuple[bool, str]]:
    """Two dtypes need two tensors with axes, real or complex alike; bool counts as 0 and 1."""
    x, y = call["x"], call["y"]
    if x.dtype == y.dtype:
        return
    pair = f"{x.dtype} and {y.dtype}"
    yield not {x.dtype, y.dtype} & set(COMPLEX), f"{pair}: complex numbers do not mix with others"
    yield bool(x.rank and y.rank), f"{pair}: a tensor without axes promotes otherwise"


def mixes(call: OpCall) -> Iterator[tuple[bool, str]]:
    """As `mixes_with_masks`, and neither is bool."""
    yield call["y"].dtype != "bool", f"{call['x'].dtype} and bool: a mask is no number here"
    yield from mixes_with_masks(call)


def mixed_type(call: OpCall) -> Type:
    """The promoted dtype in the broadcast shape."""
    x, y = call["x"], call["y"]
    return Dense(promoted_dtype(x.dtype, y.dtype), broadcast_shape([x.shape, y.shape]))


def mixed_quotient_type(call: OpCall) -> Type:
    """As `mixed_type`; whole numbers become float32."""
    found = mixed_type(call)
    assert isinstance(found, Dense)
    whole = found.dtype in INTEGERS or found.dtype == "bool"
    return replace(found, dtype="float32") if whole else found


def mixed_reference(
    function: Callable[..., object], *, promote: bool = False
) -> Callable[..., object]:
    """A NumPy reference whose operands are brought to the promoted dtype first.

    `promote`: whole numbers become float32, see `lifted`.
    """
    plain = lifted(function, promote=promote)

    def reference(x: object, y: object, **attrs: object) -> object:
        left, right = np.asarray(x), np.asarray(y)
        if left.dtype == right.dtype:
            return plain(x, y, **attrs)
        wanted = numpy_dtype(promoted_dtype(str(left.dtype), str(right.dtype)))
        return plain(left.astype(wanted), right.astype(wanted), **attrs)

    return reference
