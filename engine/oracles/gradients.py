"""The gradient oracle: PyTorch's gradient in float64 as a referee, itself held against differences.

Reverse mode and second order by input, forward mode as one derivative along fixed directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from engine.executors.outcome import Array
from engine.ir.types import Dense, is_float
from engine.ops import OPS
from engine.oracles.comparison import BASELINE, Comparison, Gradients, framework_of
from engine.oracles.differences import TANGENT
from engine.oracles.keys import normalise
from engine.oracles.numeric import (
    ACCUMULATING_MARGIN,
    CLEARLY,
    GRADE_MARGIN,
    Gap,
    grade_of,
    nonfinite_classes,
    tolerance_of,
)
from engine.oracles.numerical import accuse, is_disputed
from engine.oracles.referee import Floats, as_float64
from engine.oracles.verdict import Divergence, Kind

__all__ = ["gradients", "truth", "wrong_classes"]

# How far the referee may be from differences, which are right to half of float64's digits.
_SLOPE_RTOL, _SLOPE_ATOL = 1e-3, 1e-5
_SHORT = 64
# A gradient of this part of the greatest one is what float64's rounding left of terms that cancel,
# as those of the bias of keys do, which softmax does not see. Fewer bits leave so much more of it.
_NOTHING = 1e-14
_COARSER = {"float32": 2.0**29, "float16": 2.0**42, "bfloat16": 2.0**45}
# Rows without a derivative of their own, since it is 0 wherever there is one, or nothing flows.
_FLAT = (
    *("div_rounding", "floor_divide", "floor_divide_scalar", "truncate_div"),
    *("heaviside", "nextafter", "detach"),
)
_CONSTANT = frozenset({"creation", "query", "counting", "searching", "random"})


def gradients(comparison: Comparison) -> Iterator[Divergence | str]:
    """Gradients against the gradient referee, and gradients that raise in one mode only.

    The referee is PyTorch's own gradient in float64. It is held against differences on NumPy where
    somebody is suspected and where it is greatest, and forward mode against reverse mode; where it
    contradicts them, it is PyTorch that is accused.
    """
    if comparison.case.plan.gradient == "none":
        return
    yield from _gradient_raises(comparison)
    referee = comparison.gradients
    if referee is None or comparison.incomparable.intersection(comparison.case.graph.outputs):
        return
    for name, dtype in _derivatives(comparison):
        exact = referee.exact.get(name)
        if exact is None:
            continue
        if untold := _without_derivative(comparison, name):
            yield f"gradient of {name}: no row promises the derivative of {untold}"
            continue
        if _is_held(comparison, "torch", name):
            continue  # the referee's module has a copy, so that its gradient is not all of it
        gaps: dict[str, Gap] = {}
        for mode in comparison.aligned(0):
            if _is_held(comparison, framework_of(mode), name):
                continue
            if viewed := _viewed_otherwise(comparison, mode):
                framework = framework_of(mode)
                yield f"gradient of {name}: {framework} does not promise that {viewed} is a view"
                continue
            answer = comparison.outcomes[mode].gradients.get(name)
            if answer is not None and answer.array is not None:
                found = _gradient_gap(
                    answer.array,
                    dtype,
                    exact,
                    referee.disturbed,
                    name,
                    referee.scale,
                    _left_of_terms(exact, dtype, referee),
                )
                if found is not None:
                    gaps[mode] = found
        suspects = [found for found in gaps.values() if found.counts]
        if suspects and not all(referee.is_smooth(name, found.worst) for found in suspects):
            yield f"gradient of {name}: the derivative is not the same from both sides"
            continue
        places = dict.fromkeys((*(one.worst for one in suspects), *_greatest_place(exact)))
        # Who is only as exact as float32, the suspect or the referee, differences can tell, too.
        fine = bool(suspects) and dtype == "float64"
        wrong = next(
            (
                said
                for at in places
                if (said := _contradicted(comparison, name, exact, at, is_fine=fine))
            ),
            None,
        )
        if wrong is not None:
            yield wrong
            continue
        if name == TANGENT and _contradicts_itself(comparison, exact):
            yield (
                f"forward mode gives {float(as_float64(exact)):.6g} in float64, reverse mode"
                f" {referee.transposed:.6g}, and differences do not tell which is right"
            )
            continue
        yield from accuse(
            comparison, gaps, f"gradient of {name}", (Kind.GRADIENT, Kind.GRADIENT_NONFINITE)
        )


def _derivatives(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """What was asked for, by the name of an input, or of the derivative along fixed directions;
    and the dtype whose tolerance it is held to."""
    wanted = [
        (one.name, one.type.dtype)
        for one in comparison.case.graph.inputs
        if one.requires_grad and isinstance(one.type, Dense)
    ]
    if comparison.case.plan.gradient == "forward":
        yield TANGENT, _graded_dtype(comparison, _least([dtype for _, dtype in wanted]))
        return
    for name, dtype in wanted:
        yield name, _graded_dtype(comparison, dtype)


def _is_held(comparison: Comparison, framework: str, name: str) -> bool:
    """Whether a module of the framework keeps a copy of what a derivative is asked for."""
    held = comparison.held_by_modules(framework)
    if name != TANGENT:
        return name in held
    return any(one.requires_grad and one.name in held for one in comparison.case.graph.inputs)


def _without_derivative(comparison: Comparison, name: str) -> str:
    """An operator on the way from what a derivative is asked for, that has one which its row does
    not promise: PyTorch may take it for a constant, and MindSpore not."""
    graph = comparison.case.graph
    asking = {one.name for one in graph.inputs if one.requires_grad}
    reached = set(asking) if name == TANGENT else {name}
    for node in graph.nodes:
        if reached.isdisjoint(node.uses):
            continue
        spec = OPS.get(node.op)
        if (
            spec is not None
            and not spec.differentiable
            and spec.name not in _FLAT
            and _CONSTANT.isdisjoint(spec.tags)
            and isinstance(node.type, Dense)
            and is_float(node.type.dtype)
        ):
            return node.op
        reached.add(node.name)
        if node.writes:
            reached.add(node.writes)
    return ""


def _viewed_otherwise(comparison: Comparison, mode: str) -> str:
    """An operator of which the framework does not promise a view, where a value of the mode shows
    that it gave none, or one that the referee did not: its gradient is that of another program."""
    for place, name in enumerate(comparison.case.graph.outputs):
        unpromised = comparison.unpromised_views(framework_of(mode), name)
        if unpromised and is_disputed(comparison, 0, place, name, mode=mode):
            return unpromised[0]
    return ""


def _least(dtypes: Sequence[str]) -> str:
    """The dtype of the fewest bits, float32 where there is none: a loss is summed in that."""
    return max(dtypes, key=lambda one: tolerance_of(one)[0], default="float32")


def _greatest_place(exact: Array) -> tuple[tuple[int, ...], ...]:
    """Where a gradient is greatest, which tells most about it."""
    flat = np.abs(as_float64(exact)) if exact.dtype.kind != "c" else np.zeros(0)
    if not flat.size or not np.isfinite(flat).all():
        return ()
    return (tuple(int(one) for one in np.unravel_index(int(flat.argmax()), flat.shape)),)


def _contradicted(
    comparison: Comparison, name: str, exact: Array, at: tuple[int, ...], *, is_fine: bool
) -> Divergence | None:
    """PyTorch's own gradient, where differences in float64 say otherwise and its forward values are
    not in dispute. The modes accused are those that share the fault. `is_fine`: a gradient that is
    only as exact as float32 counts."""
    referee = comparison.gradients
    if referee is None or exact.dtype.kind == "c":
        return None
    value = float(as_float64(exact)[at])
    slope = _corrected(referee, name, exact, at, is_fine=is_fine)
    if slope is None:
        return None
    digits = 6 if _is_apart(value, slope) else 12
    outputs = comparison.case.graph.outputs
    if any(is_disputed(comparison, 0, place, one) for place, one in enumerate(outputs)):
        return None
    given = {
        mode: float(as_float64(answer.array)[at])
        for mode in comparison.modes_of("torch")
        if (answer := comparison.outcomes[mode].gradients.get(name)) is not None
        and answer.array is not None
        and answer.array.shape == exact.shape
    }
    accused = [mode for mode, one in given.items() if not _is_apart(one, value)]
    if not accused:
        return None
    other = referee.transposed
    right = f"{slope:.{digits}g}"
    return Divergence(
        Kind.GRADIENT_NONFINITE if not np.isfinite(value) else Kind.GRADIENT,
        "torch",
        tuple(accused),
        value=f"gradient of {name}",
        worst=at,
        evidence=(
            f"{accused[0]}: {given[accused[0]]:.{digits}g}, differences in float64 say {right}",
            f"torch-eager-f64 gives {value:.{digits}g}, so it is no matter of rounding",
            *([] if other is None else [f"reverse mode's gradients amount to {other:.6g}"]),
        ),
    )


def truth(referee: Gradients, name: str, at: tuple[int, ...]) -> Array | None:
    """The referee's gradient; where differences contradict it at a place, with what they say there
    and, of a short one, everywhere."""
    exact = referee.exact.get(name)
    if exact is None or exact.dtype.kind == "c" or len(at) != exact.ndim:
        return exact
    if _corrected(referee, name, exact, at, is_fine=True) is None:
        return exact
    places = list(np.ndindex(exact.shape)) if exact.size <= _SHORT else [at]
    right = exact.copy()
    for place in places:
        slope = _corrected(referee, name, exact, place, is_fine=True)
        if slope is not None:
            right[place] = slope
    return right


def _corrected(
    referee: Gradients, name: str, exact: Array, at: tuple[int, ...], *, is_fine: bool
) -> float | None:
    """What differences say of one element, where that is not what the referee says."""
    slope, value = referee.slope(name, at), float(as_float64(exact)[at])
    if slope is None:
        return None
    if not _is_apart(value, slope):
        scale = float(np.abs(as_float64(exact)).max(initial=referee.scale))
        fine = referee.fine_slope(name, at) if is_fine else None
        # Wide steps over a function of stairs agree with each other, and not with narrow ones.
        if fine is None or _is_apart(fine, slope):
            return None
        if abs(value - fine) <= grade_of(np.asarray(abs(fine) + scale)):
            return None
        slope = fine
    return slope if referee.is_smooth(name, at) else None


def _contradicts_itself(comparison: Comparison, exact: Array) -> bool:
    """The dot-product test: forward mode along directions is reverse mode times them."""
    referee = comparison.gradients
    if referee is None or referee.transposed is None or exact.size != 1:
        return False
    tangent = float(as_float64(exact).ravel()[0])
    return abs(tangent - referee.transposed) > _SLOPE_RTOL * referee.scale + _SLOPE_ATOL


def _is_apart(one: float, other: float) -> bool:
    if not np.isfinite(one):
        return True
    return abs(one - other) > _SLOPE_RTOL * max(abs(one), abs(other)) + _SLOPE_ATOL


def _left_of_terms(exact: Array, dtype: str, referee: Gradients) -> float:
    """How much the working dtype may leave of terms that cancel to nothing; 0 where they do not."""
    most = _magnitude(exact)
    greatest = max(_magnitude(one) for one in referee.exact.values() if one is not None)
    return most * _COARSER.get(dtype, 1.0) if most <= _NOTHING * greatest else 0.0


def _magnitude(exact: Array) -> float:
    values = np.abs(as_float64(exact))
    return float(values[np.isfinite(values)].max(initial=0.0))


def _gradient_gap(
    seen_array: Array,
    dtype: str,
    exact_array: Array,
    disturbed: Callable[[], tuple[Mapping[str, Array | None], ...]],
    name: str,
    least_scale: float,
    left: float = 0.0,
) -> Gap | None:
    """The gap of a gradient; `dtype` "float64" only where all of the graph is. `least_scale`: of
    the terms that it is summed of, and `left`: what rounding leaves of them where they cancel."""
    seen, exact = as_float64(seen_array), as_float64(exact_array)
    if seen.shape != exact.shape:
        return None
    rtol, atol = tolerance_of(dtype)
    scale = float(np.abs(exact[np.isfinite(exact)]).max(initial=least_scale))
    with np.errstate(all="ignore"):
        # Gradients sum many terms: the tolerance is relative to the greatest of them too.
        allowed = CLEARLY * (atol + rtol * np.abs(exact) + rtol * scale)
        grade = grade_of(np.abs(exact) + scale) if dtype == "float64" else allowed
        error = np.abs(seen - exact)
        classes = wrong_classes(seen, exact)
        finite = ~classes & np.isfinite(exact)
        if not (error[finite] > np.minimum(allowed, grade)[finite]).any() and not classes.any():
            return Gap(0.0, 0.0, 0, ())
        floor = np.zeros(exact.shape)
        for other in disturbed():
            array = other.get(name)
            moved = as_float64(array) if array is not None else np.full(exact.shape, np.inf)
            if moved.shape != exact.shape:
                return None
            shift = np.asarray(np.abs(moved - exact))
            shift[np.isnan(moved) & np.isnan(exact)] = 0
            shift[(nonfinite_classes(moved) != nonfinite_classes(exact))] = np.inf
            floor = np.maximum(floor, np.nan_to_num(shift, nan=0.0, posinf=np.inf))
        limit = np.maximum(allowed, np.maximum(ACCUMULATING_MARGIN * floor, CLEARLY * left))
        if dtype == "float64":
            limit = np.minimum(limit, np.maximum(grade, GRADE_MARGIN * floor))
        classes &= ~np.isinf(limit)
        ratio = np.where(finite & np.isfinite(limit), error / limit, 0.0)
    if classes.any():
        worst = tuple(int(one) for one in np.argwhere(classes)[0])
        return Gap(float(ratio.max(initial=0)), float("nan"), int(classes.sum()), worst)
    place = np.unravel_index(int(ratio.argmax()), ratio.shape) if ratio.size else ()
    worst = tuple(int(one) for one in place)
    return Gap(float(ratio.max(initial=0)), float(error[worst]) if ratio.size else 0.0, 0, worst)


def wrong_classes(seen: Floats, exact: Floats) -> npt.NDArray[np.bool_]:
    """Where a gradient is NaN or infinite and must not be.

    Neither is expected of anybody: what comes of 0 times infinity along a branch that is not taken,
    or of NaN times a zero of the padding, is the doing of one way to carry out the chain rule.
    """
    return np.asarray(~np.isfinite(seen) & np.isfinite(exact))


def _graded_dtype(comparison: Comparison, dtype: str) -> str:
    """The dtype whose tolerance a gradient is held to: that of float32 where a value of the graph
    has fewer bits than float64, since the gradient passes through it."""
    types = comparison.case.graph.types.values()
    floats = {one.dtype for one in types if isinstance(one, Dense) and is_float(one.dtype)}
    return dtype if dtype != "float64" or floats == {"float64"} else "float32"


def _gradient_raises(comparison: Comparison) -> Iterator[Divergence | str]:
    for framework in comparison.frameworks():
        modes = [mode for mode in comparison.modes_of(framework) if mode in comparison.ok]
        failed = [mode for mode in modes if comparison.outcomes[mode].gradient_failure]
        passed = [
            mode for mode in modes if mode not in failed and comparison.outcomes[mode].gradients
        ]
        for mode in failed:
            failure = comparison.outcomes[mode].gradient_failure
            assert failure is not None
            if not passed or mode == BASELINE["torch"]:
                yield f"the gradient raises in {mode} and in no mode of {framework} does it work"
                continue
            yield Divergence(
                Kind.GRADIENT_RAISES,
                framework,
                (mode,),
                node=failure.node,
                message=normalise(failure.type, failure.message),
                evidence=(f"{' and '.join(passed)} give the gradient",),
            )
