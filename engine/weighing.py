"""Every output and gradient of a case weighed against float64: the referee's figures, as data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from engine.executors.modes import MODES, base_of
from engine.executors.outcome import Answer, Array
from engine.finding import Weighed
from engine.ir.types import Dense, is_float
from engine.oracles.comparison import Comparison, Gradients
from engine.oracles.gradients import wrong_classes
from engine.oracles.numeric import (
    ACCUMULATING_MARGIN,
    CLEARLY,
    GRADE_MARGIN,
    MARGIN,
    gap,
    grade_of,
    nonfinite_classes,
    tolerance_of,
)
from engine.oracles.referee import Floats, Referee, as_float64, distance

__all__ = ["weighed", "weighed_gradient"]


def weighed(comparison: Comparison) -> tuple[Weighed, ...]:
    """Outputs by call, then gradients, in every mode that answered.

    What is never compared (random and undefined values) is not weighed, nor is what has another
    shape than float64 has.
    """
    order = tuple(MODES)

    def place(row: Weighed) -> tuple[bool, int, int]:
        return row.quantity == "gradient", row.call, order.index(base_of(row.mode))

    names = comparison.gradients.exact if comparison.gradients else ()
    gradients = _gradients(comparison, names, comparison.ok)
    return tuple(sorted((*_outputs(comparison), *gradients), key=place))


def weighed_gradient(comparison: Comparison, mode: str, name: str) -> Weighed | None:
    """The gradient of one value in one mode, without the cost of the others; None where it is not
    weighed."""
    return next(_gradients(comparison, (name,), (mode,)), None)


# -------------------------------------------------------------------------------------- outputs
def _outputs(comparison: Comparison) -> Iterator[Weighed]:
    for call, referee in enumerate(comparison.referees):
        types = referee.case.graph.types
        for place, name in enumerate(comparison.case.graph.outputs):
            declared = types[name]
            if name in comparison.incomparable or not isinstance(declared, Dense):
                continue
            for mode in comparison.ok:
                calls = comparison.outcomes[mode].calls
                if call < len(calls) and place < len(calls[call].outputs):
                    answer = calls[call].outputs[place]
                    yield from _output(mode, call, name, answer, declared.dtype, referee)


def _output(
    mode: str, call: int, name: str, answer: Answer, dtype: str, referee: Referee
) -> Iterator[Weighed]:
    found = None if answer.array is None else gap(answer.array, dtype, referee, name)
    if found is None or answer.array is None:
        return
    exact = as_float64(referee.exact[name])
    if not exact.size:
        return
    at = found.worst if len(found.worst) == exact.ndim else (0,) * exact.ndim
    rtol, atol = tolerance_of(dtype)
    floor = referee.floor(name)
    with np.errstate(all="ignore"):
        size = np.abs(exact).max(axis=-1) if answer.array.dtype.kind == "c" else np.abs(exact)
        magnitude = float(size[at[: size.ndim]])
        finite = floor[np.isfinite(floor)]
        usual = float(finite.mean()) if finite.size else 0.0
        allowed = _allowed(
            CLEARLY * (atol + rtol * magnitude),
            max(float(floor[at]), usual),
            ACCUMULATING_MARGIN if referee.accumulates else MARGIN,
            magnitude,
            dtype,
        )
    yield _row(
        mode,
        call,
        name,
        "value",
        at,
        allowed,
        (answer.array, referee.exact[name]),
        is_wrong_class=found.nonfinite > 0,
        counts=found.counts,
    )


def _allowed(
    tolerance: float, floor: float, margin: float, magnitude: float, dtype: str
) -> tuple[float, float]:
    """What the tolerance and what the noise floor allow; the greater of the two is the limit.

    float64 must also be better than a calculation in float32, where the floor lets one tell.
    """
    usual = (tolerance, margin * floor)
    if dtype != "float64":
        return usual
    graded = (float(grade_of(np.asarray(magnitude))), GRADE_MARGIN * floor)
    return min(usual, graded, key=max)


# ------------------------------------------------------------------------------------ gradients
def _gradients(
    comparison: Comparison, names: Collection[str], modes: Collection[str]
) -> Iterator[Weighed]:
    referee = comparison.gradients
    if referee is None or comparison.incomparable.intersection(comparison.case.graph.outputs):
        return
    types = comparison.case.graph.types.values()
    floats = {one.dtype for one in types if isinstance(one, Dense) and is_float(one.dtype)}
    for name in names:
        array = referee.exact.get(name)
        if array is None:
            continue
        for mode in modes:
            answer = comparison.outcomes[mode].gradients.get(name)
            if answer is not None and answer.array is not None:
                dtype = answer.dtype
                if dtype == "float64" and floats != {"float64"}:
                    dtype = "float32"
                yield from _gradient(mode, name, answer.array, dtype, array, referee)


def _gradient(
    mode: str, name: str, given: Array, dtype: str, wanted: Array, referee: Gradients
) -> Iterator[Weighed]:
    """`dtype`: "float64" only where all of the graph is, since gradients pass through it."""
    seen, exact = as_float64(given), as_float64(wanted)
    if seen.shape != exact.shape or not exact.size:
        return
    rtol, atol = tolerance_of(dtype)
    scale = float(np.abs(exact[np.isfinite(exact)]).max(initial=referee.scale))
    moved = _moved(name, exact, referee.disturbed())
    if moved is None:
        return
    with np.errstate(all="ignore"):
        tolerance = CLEARLY * (atol + rtol * np.abs(exact) + rtol * scale)
        error = distance(given, wanted)
        limit = np.maximum(tolerance, ACCUMULATING_MARGIN * moved)
        if dtype == "float64":
            grade = grade_of(np.abs(exact) + scale)
            limit = np.minimum(limit, np.maximum(grade, GRADE_MARGIN * moved))
        wrong = wrong_classes(seen, exact) & ~np.isinf(limit)
        ratio = np.nan_to_num(np.where(limit > 0, error / limit, 0.0), nan=0.0, posinf=0.0)
    place = int(wrong.argmax()) if wrong.any() else int(ratio.argmax())
    at = tuple(int(one) for one in np.unravel_index(place, exact.shape))
    yield _row(
        mode,
        0,
        name,
        "gradient",
        at,
        _allowed(
            float(tolerance[at]),
            float(moved[at]),
            ACCUMULATING_MARGIN,
            abs(float(exact[at])) + scale,
            dtype,
        ),
        (given, wanted),
        is_wrong_class=bool(wrong.any()),
        counts=bool(wrong.any() or (ratio > 1).any()),
    )


def _moved(
    name: str, exact: Floats, draws: tuple[Mapping[str, Array | None], ...]
) -> Floats | None:
    """How far float64 moves when inputs do, by the last place of the working dtype."""
    moved = np.zeros(exact.shape)
    for draw in draws:
        array = draw.get(name)
        if array is None:
            return np.full(exact.shape, np.inf)
        other = as_float64(array)
        if other.shape != exact.shape:
            return None
        with np.errstate(all="ignore"):
            shift = np.asarray(np.abs(other - exact))
            shift[nonfinite_classes(other) != nonfinite_classes(exact)] = np.inf
        moved = np.maximum(moved, np.nan_to_num(shift, nan=0.0, posinf=np.inf))
    return moved


# ----------------------------------------------------------------------------------------- rows
def _row(
    mode: str,
    call: int,
    name: str,
    quantity: str,
    at: tuple[int, ...],
    allowed: tuple[float, float],
    arrays: tuple[Array, Array],
    *,
    is_wrong_class: bool,
    counts: bool,
) -> Weighed:
    """`at` has one index more for a complex number, of its part."""
    error, limit = float(distance(*arrays)[at]), max(allowed)
    if is_wrong_class:
        error = ratio = float("inf")
    elif np.isinf(limit):
        ratio = 0.0
    else:
        # What is allowed may be nothing, as for integers: then any difference counts.
        ratio = error / limit if limit > 0 else (2.0 if error else 0.0)
    ratio = ratio if counts else min(ratio, 1.0)
    got, wanted = (str(array[at[: array.ndim]]) for array in arrays)
    return Weighed(
        mode=mode,
        call=call,
        name=name,
        quantity=quantity,
        error=error,
        tolerance=allowed[0],
        floor=allowed[1],
        ratio=ratio,
        at=at[: arrays[0].ndim],
        got=got,
        exact=wanted,
    )
