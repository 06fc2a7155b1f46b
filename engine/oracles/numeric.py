"""When two arrays differ: default tolerances, scaled by dtype, and the noise floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.executors.outcome import Array
from engine.ir.types import COMPLEX, is_float
from engine.oracles.referee import Floats, Referee, as_float64, distance
from engine.oracles.undefined import greatest_of

__all__ = [
    "ACCUMULATING_MARGIN",
    "CLEARLY",
    "DEFAULT_TOLERANCE",
    "GRADE_MARGIN",
    "MARGIN",
    "Gap",
    "asserted_tolerance",
    "gap",
    "grade_of",
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
# What float64 must be better than: an error of more than a sixteenth of float32's unit in the last
# place, and ten thousand times the noise floor, is that of a calculation in float32.
_FLOAT32_GRADE = 2.0**-23 / 16
_GRADE_LEAST = 1e-10
GRADE_MARGIN = 1e4
# Sums of many terms: algorithms of the same quality (Winograd, blocked, pairwise) differ by more.
ACCUMULATING_MARGIN = 48.0
Classes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Gap:
    """How far an answer is from the float64 referee.

    `units`: greatest error over the finite elements, in units of what is allowed there (tolerance
    and floor together), so that more than 1 counts. `raw`: that element's absolute error.
    `nonfinite`: elements whose class (finite, NaN, +Inf, -Inf) is wrong although neither rounding
    nor overflow explains it. `worst`: index of the worst element. `excused`: greatest error that
    only the noise floor excuses, 0 where there is none, inf for a wrong class; `floor`: how far
    float64 itself moves there; `beyond`: that error in units of the tolerance.
    """

    units: float
    raw: float
    nonfinite: int
    worst: tuple[int, ...]
    excused: float = 0.0
    floor: float = 0.0
    beyond: float = 0.0

    @property
    def counts(self) -> bool:
        return self.units > 1 or self.nonfinite > 0


def tolerance_of(dtype: str) -> tuple[float, float]:
    """Default (rtol, atol) of a dtype; exact for integers and bool."""
    return DEFAULT_TOLERANCE.get(dtype, (0.0, 0.0))


def asserted_tolerance(dtype: str) -> tuple[float, float]:
    """(rtol, atol) by which a script tells right from wrong: in float64, better than float32."""
    return (_FLOAT32_GRADE, _GRADE_LEAST) if dtype == "float64" else tolerance_of(dtype)


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
        error = distance(answer, referee.exact[name])
        magnitude = _magnitude(exact, dtype)
        rtol, atol = tolerance_of(dtype)
        allowed = CLEARLY * (atol + rtol * magnitude)
        least = np.minimum(allowed, grade_of(magnitude)) if dtype == "float64" else allowed
        classes, wanted = nonfinite_classes(seen), nonfinite_classes(exact)
        if dtype in COMPLEX:
            # Which part is NaN or infinite is not agreed on (C99, annex G, is not C++).
            classes, wanted = np.where((classes | wanted) > 0, (1, 1), (classes, wanted))
        finite = (classes == 0) & (wanted == 0)
        if not (error[finite] > least[finite]).any() and not (classes != wanted).any():
            scaled = error / np.where(allowed > 0, allowed, 1)
            units, worst = _greatest(scaled, finite)
            return Gap(units if allowed.any() else 0.0, _at(error, worst), 0, worst)
        floor = referee.floor(name)
        if dtype in COMPLEX:
            floor = np.broadcast_to(floor.max(axis=-1, keepdims=True), floor.shape)
        limit = _limit(allowed, magnitude, floor, dtype, accumulates=referee.accumulates)
        ratio = np.where(
            limit > 0, error / np.where(limit > 0, limit, 1), np.where(error > 0, 2.0, 0)
        )
        working = as_float64(referee.working[name])
        held = nonfinite_classes(working)
        # Where a number grows too great on the way in NumPy, too, the range of the dtype is to
        # blame for what comes of it, be it finite.
        lost = (held != wanted) | ~(np.abs(working - exact) <= limit)
        beyond_range = lost & ((ratio > 1) | (classes != wanted))
        if beyond_range.any():
            beyond_range = beyond_range & referee.overflows
        finite = finite & ~beyond_range
        units, worst = _greatest(ratio, finite)
        other = (classes != wanted) & ~_overflows(exact, dtype)
        unclear = (other & np.isinf(floor)) | beyond_range
        # What NumPy has too in the working dtype is right after all.
        wrong = other & ~unclear & (held != classes)
    count = int(wrong.sum())
    if count:
        first = np.argwhere(wrong)
        worst = tuple(int(one) for one in (first[0] if len(first) else ()))
    raw = _at(error, worst)
    if units > 1 or count:
        return Gap(units, raw, count, worst)
    if unclear.any():
        return Gap(units, raw, 0, worst, np.inf, np.inf, np.inf)
    _, place = _greatest(np.where(error > allowed, error, 0.0), finite)
    excused, tolerated = _at(error, place), _at(allowed, place)
    if not excused > tolerated:
        return Gap(units, raw, 0, worst)
    beyond = excused / tolerated if tolerated else np.inf
    return Gap(units, raw, 0, worst, excused, _at(floor, place), beyond)


def grade_of(magnitude: Floats) -> Floats:
    """The least error of a calculation in float32, by the magnitude of what was to come out."""
    return np.maximum(_FLOAT32_GRADE * magnitude, _GRADE_LEAST)


def _limit(
    allowed: Floats, magnitude: Floats, floor: Floats, dtype: str, *, accumulates: bool
) -> Floats:
    """The error at which a difference begins to count; `allowed` is by the default tolerance."""
    smoothed = np.maximum(floor, _typical(floor))
    margin = ACCUMULATING_MARGIN if accumulates else MARGIN
    limit = np.maximum(allowed, margin * smoothed)
    if dtype == "float64":
        limit = np.minimum(limit, np.maximum(grade_of(magnitude), GRADE_MARGIN * smoothed))
    return limit


def _at(array: Floats, place: tuple[int, ...]) -> float:
    """The element at a place; 0 for the place of an array without elements."""
    if array.ndim and not place:
        return 0.0
    return float(array[place])


def _magnitude(exact: Floats, dtype: str) -> Floats:
    """Absolute values; of a complex number, whose parts are on the last axis, that of the whole."""
    if dtype not in COMPLEX:
        return np.abs(exact)
    return np.broadcast_to(np.hypot(exact[..., :1], exact[..., 1:]), exact.shape)


def _overflows(exact: Floats, dtype: str) -> npt.NDArray[np.bool_]:
    """Where the exact value does not fit the dtype."""
    if not is_float(dtype):
        return np.zeros(exact.shape, dtype=np.bool_)
    return np.asarray(np.isfinite(exact) & (np.abs(exact) > greatest_of(dtype) / 4))


def _typical(floor: Floats) -> float:
    finite = floor[np.isfinite(floor)]
    return float(finite.mean()) if finite.size else 0.0


def _greatest(values: Floats, where: npt.NDArray[np.bool_]) -> tuple[float, tuple[int, ...]]:
    """The greatest of some elements and its place; 0 and no place where there is none."""
    if not where.any():
        return 0.0, ()
    masked = np.where(where, values, -1.0)
    masked = np.where(np.isnan(masked), -1.0, masked)
    place = np.unravel_index(int(masked.argmax()), masked.shape)
    return float(masked[place]), tuple(int(one) for one in place)
