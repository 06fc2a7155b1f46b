"""When two arrays differ: default tolerances, scaled by dtype, and the noise floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.executors.outcome import Array
from engine.ir.types import COMPLEX, is_float, numpy_dtype
from engine.oracles.referee import Floats, Referee, as_float64

__all__ = [
    "ACCUMULATING_MARGIN",
    "CLEARLY",
    "DEFAULT_TOLERANCE",
    "MARGIN",
    "Gap",
    "gap",
    "nonfinite_classes",
    "tolerance_of",
]

# (rtol, atol) of torch.testing.assert_close; complex64 counts as float32.
DEFAULT_TOLERANCE: dict[str, tuple[float, float]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
# A difference counts when it exceeds the default tolerance, and the floor, clearly.
CLEARLY = 4.0
MARGIN = 16.0
# Sums of many terms: algorithms of the same quality (Winograd, blocked, pairwise) differ by more.
ACCUMULATING_MARGIN = 48.0
Classes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Gap:
    """How far an answer is from the float64 referee.

    `units`: greatest error over the finite elements, in units of what is allowed there (tolerance
    and floor together), so that more than 1 counts. `raw`: that element's absolute error.
    `nonfinite`: elements whose class (finite, NaN, +Inf, -Inf) is wrong although neither rounding
    nor overflow explains it. `worst`: index of the worst element.
    """

    units: float
    raw: float
    nonfinite: int
    worst: tuple[int, ...]

    @property
    def counts(self) -> bool:
        return self.units > 1 or self.nonfinite > 0


def tolerance_of(dtype: str) -> tuple[float, float]:
    """Default (rtol, atol) of a dtype; exact for integers and bool."""
    return DEFAULT_TOLERANCE.get(dtype, (0.0, 0.0))


def nonfinite_classes(array: Floats) -> Classes:
    """0 finite, 1 NaN, 2 +Inf, 3 -Inf, elementwise."""
    classes = np.zeros(array.shape, dtype=np.int8)
    classes[np.isnan(array)] = 1
    classes[array == np.inf] = 2
    classes[array == -np.inf] = 3
    return classes


def gap(answer: Array, dtype: str, referee: Referee, name: str) -> Gap | None:
    """The gap of an answer of the right shape; None where the referee cannot tell.

    `dtype` is the declared dtype of the value, which decides the tolerance.
    """
    exact = as_float64(referee.exact[name])
    seen = as_float64(answer)
    if seen.shape != exact.shape:
        return None
    with np.errstate(all="ignore"):
        rtol, atol = tolerance_of(dtype)
        allowed = CLEARLY * (atol + rtol * _magnitude(exact, dtype))
        error = np.abs(seen - exact)
        classes, wanted = nonfinite_classes(seen), nonfinite_classes(exact)
        if dtype in COMPLEX:
            # Which part is NaN or infinite is not agreed on (C99, annex G, is not C++).
            classes, wanted = np.where((classes | wanted) > 0, (1, 1), (classes, wanted))
        finite = (classes == 0) & (wanted == 0)
        suspicious = bool((error[finite] > allowed[finite]).any()) or bool(
            (classes != wanted).any()
        )
        if not suspicious:
            scaled = error / np.where(allowed > 0, allowed, 1)
            units, _, worst = _greatest(scaled, finite)
            raw = float(error[worst]) if worst or not error.ndim else 0.0
            return Gap(units if allowed.any() else 0.0, raw, 0, worst)
        floor = referee.floor(name)
        if dtype in COMPLEX:
            floor = np.broadcast_to(floor.max(axis=-1, keepdims=True), floor.shape)
        smoothed = np.maximum(floor, _typical(floor))
        margin = ACCUMULATING_MARGIN if referee.accumulates else MARGIN
        limit = np.maximum(allowed, margin * smoothed)
        ratio = np.where(
            limit > 0, error / np.where(limit > 0, limit, 1), np.where(error > 0, 2.0, 0)
        )
        units, _, worst = _greatest(ratio, finite)
        wrong = (classes != wanted) & ~_excused(referee, name, classes, exact, floor, dtype)
    count = int(wrong.sum())
    if count:
        first = np.argwhere(wrong)
        worst = tuple(int(one) for one in (first[0] if len(first) else ()))
    raw = (
        float(error[worst])
        if error.size and worst != ()
        else float(error)
        if error.ndim == 0
        else 0.0
    )
    return Gap(units, raw, count, worst)


def _magnitude(exact: Floats, dtype: str) -> Floats:
    """Absolute values; of a complex number, whose parts are on the last axis, that of the whole."""
    if dtype not in COMPLEX:
        return np.abs(exact)
    return np.broadcast_to(np.hypot(exact[..., :1], exact[..., 1:]), exact.shape)


def _excused(
    referee: Referee, name: str, classes: Classes, exact: Floats, floor: Floats, dtype: str
) -> npt.NDArray[np.bool_]:
    """Where a wrong class says nothing: NumPy in the working dtype has it too, rounding reaches it,
    or the exact value does not fit the dtype."""
    working = nonfinite_classes(as_float64(referee.working[name]))
    excused = (working == classes) | np.isinf(floor)
    if is_float(dtype):
        greatest = _greatest_of(dtype)
        excused |= np.abs(exact) > greatest / 4
    return np.asarray(excused)


def _greatest_of(dtype: str) -> float:
    import ml_dtypes  # the only finfo that knows bfloat16

    return float(ml_dtypes.finfo(numpy_dtype(dtype)).max)  # type: ignore[no-untyped-call]


def _typical(floor: Floats) -> float:
    finite = floor[np.isfinite(floor)]
    return float(finite.mean()) if finite.size else 0.0


def _greatest(values: Floats, where: npt.NDArray[np.bool_]) -> tuple[float, float, tuple[int, ...]]:
    if not where.any():
        return 0.0, 0.0, ()
    masked = np.where(where, values, -1.0)
    masked = np.where(np.isnan(masked), -1.0, masked)
    place = np.unravel_index(int(masked.argmax()), masked.shape)
    greatest = float(masked[place])
    return greatest, greatest, tuple(int(one) for one in place)
