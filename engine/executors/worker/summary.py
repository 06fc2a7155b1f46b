"""Facts about the elements of an array: range, moments, special values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .protocol import Block

__all__ = ["as_float64", "summarise"]


def as_float64(block: Block) -> npt.NDArray[Any]:
    """The elements as float64; complex numbers by their modulus, bfloat16 from its bits."""
    if block.dtype == "bfloat16":
        wide: npt.NDArray[Any] = block.bits.astype(np.uint32) << 16
        floats: npt.NDArray[Any] = wide.view(np.float32)
        return floats.astype(np.float64)
    if block.bits.dtype.kind == "c":
        moduli: npt.NDArray[Any] = np.abs(block.bits).astype(np.float64)
        return moduli
    values: npt.NDArray[Any] = block.bits.astype(np.float64)
    return values


def summarise(block: Block) -> dict[str, float]:
    """Counts of all elements, range and moments of the finite ones (absent when there are none).

    `std` is the population standard deviation.
    """
    values = as_float64(block).reshape(-1)
    finite = np.isfinite(values)
    whole = bool(finite.all())
    nans = 0 if whole else int(np.isnan(values).sum())
    facts = {
        "size": float(values.size),
        "zeros": float(values.size - np.count_nonzero(values)),
        "nans": float(nans),
        "infs": 0.0 if whole else float(values.size - int(finite.sum()) - nans),
    }
    kept = values if whole else values[finite]
    if kept.size == 0:
        return facts
    with np.errstate(all="ignore"):
        mean = float(kept.sum()) / kept.size
        spread = kept - mean
        facts.update(
            min=float(kept.min()),
            max=float(kept.max()),
            mean=mean,
            std=math.sqrt(float(np.dot(spread, spread)) / kept.size),
            mean_abs=float(np.abs(kept).sum()) / kept.size,
        )
    return {name: value for name, value in facts.items() if math.isfinite(value)}
