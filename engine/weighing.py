"""Every output and gradient of a case weighed against float64: the referee's figures, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from engine.executors.modes import MODES
from engine.executors.outcome import Answer, Array
from engine.finding import Weighed
from engine.ir.types import Dense
from engine.oracles.comparison import Comparison, Gradients
from engine.oracles.numeric import (
    ACCUMULATING_MARGIN,
    CLEARLY,
    MARGIN,
    gap,
    nonfinite_classes,
    tolerance_of,
)
from engine.oracles.referee import Floats, Referee, as_float64

__all__ = ["weighed"]


def weighed(comparison: Comparison) -> tuple[Weighed, ...]:
    """Outputs by call, then gradients, in every mode that answered.

    What is never compared (random and undefined values) is not weighed, nor is what has another
    shape than float64 has.
    """
    order = tuple(MODES)
    rows = (*_outputs(comparison), *_gradients(comparison))
    return tuple(
        sorted(rows, key=lambda row: (row.quantity == "gradient", row.call, order.index(row.mode)))
    )


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
    exact, seen = as_float64(referee.exact[name]), as_float64(answer.array)
    if not exact.size:
        return
    at = found.worst if len(found.worst) == exact.ndim else (0,) * exact.ndim
    rtol, atol = tolerance_of(dtype)
    margin = ACCUMULATING_MARGIN if referee.accumulates else MARGIN
    floor = referee.floor(name)
    with np.errstate(all="ignore"):
        size = np.abs(exact).max(axis=-1) if answer.array.dtype.kind == "c" else np.abs(exact)
        tolerance = CLEARLY * (atol + rtol * float(size[at[: size.ndim]]))
        finite = floor[np.isfinite(floor)]
        usual = float(finite.mean()) if finite.size else 0.0
        allowed = margin * max(float(floor[at]), usual)
    yield _row(
        mode,
        call,
        name,
        "value",
        (seen, exact, at),
        (tolerance, allowed),
        (answer.array, referee.exact[name]),
        is_wrong_class=found.nonfinite > 0,
    )


# ------------------------------------------------------------------------------------ gradients
def _gradients(comparison: Comparison) -> Iterator[Weighed]:
    referee = comparison.gradients
    if referee is None or comparison.incomparable.intersection(comparison.case.graph.outputs):
        return
    for name, array in referee.exact.items():
        if array is None:
            continue
        for mode in comparison.ok:
            answer = comparison.outcomes[mode].gradients.get(name)
            if answer is not None and answer.array is not None:
                yield from _gradient(mode, name, answer.array, answer.dtype, array, referee)


def _gradient(
    mode: str, name: str, given: Array, dtype: str, wanted: Array, referee: Gradients
) -> Iterator[Weighed]:
    seen, exact = as_float64(given), as_float64(wanted)
    if seen.shape != exact.shape or not exact.size:
        return
    rtol, atol = tolerance_of(dtype)
    scale = float(np.abs(exact[np.isfinite(exact)]).max(initial=0.0))
    moved = _moved(name, exact, referee.disturbed())
    if moved is None:
        return
    with np.errstate(all="ignore"):
        tolerance = CLEARLY * (atol + rtol * np.abs(exact) + rtol * scale)
        floor = ACCUMULATING_MARGIN * moved
        error = np.abs(seen - exact)
        limit = np.maximum(tolerance, floor)
        wrong = (nonfinite_classes(seen) != nonfinite_classes(exact)) & ~np.isinf(limit)
        ratio = np.nan_to_num(np.where(limit > 0, error / limit, 0.0), nan=0.0, posinf=0.0)
    place = int(wrong.argmax()) if wrong.any() else int(ratio.argmax())
    at = tuple(int(one) for one in np.unravel_index(place, exact.shape))
    yield _row(
        mode,
        0,
        name,
        "gradient",
        (seen, exact, at),
        (float(tolerance[at]), float(floor[at])),
        (given, wanted),
        is_wrong_class=bool(wrong.any()),
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
    compared: tuple[Floats, Floats, tuple[int, ...]],
    allowed: tuple[float, float],
    arrays: tuple[Array, Array],
    *,
    is_wrong_class: bool,
) -> Weighed:
    seen, exact, at = compared
    with np.errstate(all="ignore"):
        error = float(np.abs(seen[at] - exact[at]))
    if is_wrong_class:
        error = ratio = float("inf")
    else:
        error = 0.0 if np.isnan(error) else error
        limit = max(allowed)
        # What is allowed may be nothing, as for integers: then any difference counts.
        ratio = error / limit if limit > 0 else (2.0 if error else 0.0)
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
