"""NumPy arithmetic that the references share: half precision computed in single, windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = ["Array", "cast_like", "half", "sliding", "widened"]

Array: TypeAlias = "npt.NDArray[Any]"
_HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def half(array: Array) -> bool:
    """Whether the dtype is one of the two 16-bit floats."""
    return array.dtype in _HALF


def _wide(value: object) -> object:
    if isinstance(value, np.ndarray) and half(value):
        return value.astype(np.float32)
    return tuple(_wide(one) for one in value) if isinstance(value, tuple) else value


def cast_like(value: object, dtype: np.dtype[Any]) -> object:
    """Floating results rounded to a dtype; integers and booleans stay."""
    if isinstance(value, tuple):
        return tuple(cast_like(one, dtype) for one in value)
    found = np.asarray(value)
    return found.astype(dtype) if np.issubdtype(found.dtype, np.floating) else found


def widened(function: Callable[..., object]) -> Callable[..., object]:
    """Compute 16-bit floats in float32 and round once at the end, as the frameworks accumulate."""

    @wraps(function)
    def reference(*operands: Any, **attrs: Any) -> object:
        first = next(one for one in operands if isinstance(one, np.ndarray))
        if not half(first):
            return function(*operands, **attrs)
        return cast_like(function(*(_wide(one) for one in operands), **attrs), first.dtype)

    return reference


def sliding(
    x: Array,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Array:
    """Windows over the last axes: shape (..., *positions, *kernel), a view."""
    count = len(kernel)
    span = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    axes: Any = tuple(range(x.ndim - count, x.ndim))  # the stub knows no tuple of axes
    windows = np.lib.stride_tricks.sliding_window_view(x, span, axis=axes)
    lead = (slice(None),) * (x.ndim - count)
    steps = (*stride, *dilation)
    found: Array = windows[(*lead, *(slice(None, None, step) for step in steps))]
    return found
