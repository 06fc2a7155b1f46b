"""Numerical oracles: structure, dtype, shape and values of what the modes answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from engine.executors.outcome import Answer
from engine.ir.types import Dense, Type
from engine.oracles.comparison import BASELINE, Comparison, framework_of
from engine.oracles.keys import form_name
from engine.oracles.numeric import (
    Gap,
    gap,
    nonfinite_classes,
    tolerance_of,
)
from engine.oracles.referee import Referee, as_float64, distance
from engine.oracles.undefined import disputed_values, overflows_on_the_way
from engine.oracles.verdict import Divergence, Doubt, Kind

__all__ = ["accuse", "is_disputed", "metadata", "values"]


# How many times the tolerance an answer may be off before it says nothing even of those that agree.
_HOPELESS = 1e3


def metadata(comparison: Comparison) -> Iterator[Divergence | str]:
    """Return structure, dtype and shape against what the operators promise."""
    wanted = comparison.case.graph.outputs
    for call in range(len(comparison.case.plan.calls)):
        answers = comparison.aligned(call)
        counts = {mode: len(answer.outputs) for mode, answer in comparison.answers(call).items()}
        yield from _against(
            comparison,
            Kind.STRUCTURE,
            {mode: f"{count} outputs" for mode, count in counts.items()},
            f"{len(wanted)} outputs",
            "",
            call,
        )
        for place, name in enumerate(wanted):
            present = {mode: answer.outputs[place] for mode, answer in answers.items()}
            yield from _metadata_of(comparison, call, name, present)


def _metadata_of(
    comparison: Comparison, call: int, name: str, present: Mapping[str, Answer]
) -> Iterator[Divergence | str]:
    declared = _types(comparison, call)[name]
    referee = comparison.referees[call] if call < len(comparison.referees) else None
    if not isinstance(declared, Dense):
        return
    if referee is None and comparison.case.plan.calls[call].inputs:
        return  # the types of this call's own inputs are not at hand
    yield from _against(
        comparison,
        Kind.DTYPE,
        {mode: answer.dtype for mode, answer in present.items()},
        declared.dtype,
        name,
        call,
    )
    shape: tuple[int, ...] | None = None
    if declared.is_static:
        shape = declared.extents
    elif referee is not None and referee.has_firm_shape(name):
        shape = tuple(referee.exact[name].shape)
    if shape is not None and name not in comparison.incomparable:
        yield from _against(
            comparison,
            Kind.SHAPE,
            {mode: str(answer.shape) for mode, answer in present.items()},
            str(shape),
            name,
            call,
        )


def _against(
    comparison: Comparison, kind: Kind, seen: Mapping[str, str], wanted: str, name: str, call: int
) -> Iterator[Divergence | str]:
    """Accuse, framework by framework, the modes that differ from what others give."""
    agreeing = [mode for mode, one in seen.items() if one == wanted]
    for framework in comparison.frameworks():
        wrong = [
            mode for mode, one in seen.items() if one != wanted and framework_of(mode) == framework
        ]
        if not wrong:
            continue
        right = [mode for mode in agreeing if framework_of(mode) == framework]
        if not right:
            yield Doubt(
                f"{kind} of {name or 'the answer'}: every {framework} mode gives {seen[wrong[0]]},"
                f" the operator table says {wanted}",
                framework=framework,
            )
            continue
        yield Divergence(
            kind,
            framework,
            tuple(wrong),
            value=name,
            call=call,
            message=_change(kind, wanted, seen[wrong[0]]),
            evidence=(
                f"{', '.join(wrong)}: {seen[wrong[0]]}; {', '.join(right)}: {wanted}",
                *(
                    f"{mode} agrees with {wanted}"
                    for mode in agreeing
                    if framework_of(mode) != framework
                ),
            ),
        )


def _change(kind: Kind, wanted: str, seen: str) -> str:
    return f"{wanted} -> {seen}" if kind is Kind.DTYPE else ""


def values(comparison: Comparison) -> Iterator[Divergence | str]:
    """Values against the float64 referee, with a witness on the referee's side."""
    graph = comparison.case.graph
    if comparison.ok and not comparison.referees:
        yield "the NumPy reference has no answer, so values are not compared"
    wrong_at_first: set[tuple[str, str]] = set()
    for call, referee in enumerate(comparison.referees):
        answers = comparison.aligned(call)
        for place, name in enumerate(graph.outputs):
            declared = _types(comparison, call)[name]
            if name in comparison.incomparable or not isinstance(declared, Dense):
                continue
            gaps: dict[str, Gap] = {}
            for mode, answer in answers.items():
                given = answer.outputs[place]
                if given.array is None:
                    continue
                found = gap(given.array, declared.dtype, referee, name)
                if found is not None:
                    gaps[mode] = found
            disputed = is_disputed(comparison, call, place, name)
            if disputed and not _agrees_outside_torch(gaps):
                if any(found.counts for found in gaps.values()):
                    yield f"{name}: NumPy and torch in float64 disagree, so neither is a referee"
                continue
            lost = frozenset(
                mode
                for mode, found in gaps.items()
                if found.counts and _is_unwritten(referee, name, answers[mode].outputs[place])
            )
            yield from _ill_conditioned(name, gaps)
            for said in accuse(
                comparison,
                gaps,
                name,
                (Kind.VALUES, Kind.NONFINITE),
                second=call > 0,
                referee=referee,
            ):
                if not isinstance(said, Divergence):
                    yield said
                    continue
                if call and wrong_at_first.issuperset((mode, name) for mode in said.modes):
                    continue  # no more wrong than on the first call
                wrong_at_first |= {(mode, name) for mode in said.modes}
                if lost.issuperset(said.modes):
                    yield replace(said, kind=Kind.WRITE_LOST, call=call)
                else:
                    yield replace(said, call=call)


def _ill_conditioned(name: str, gaps: Mapping[str, Gap]) -> Iterator[str]:
    """Where a difference beyond the default tolerance says nothing, every mode's error is shown."""
    excused = [found for found in gaps.values() if found.excused and not found.counts]
    errors = [found.excused for found in gaps.values()]
    if not excused:
        return
    if max(errors) <= 1.01 * min(errors) and max(one.beyond for one in excused) < _HOPELESS:
        return  # all are off alike, and not by much
    shown = ", ".join(
        f"{mode} by {found.excused:.3g}" if found.excused else f"{mode} by no more than is allowed"
        for mode, found in gaps.items()
    )
    floor = max(found.floor for found in excused)
    yield (
        f"{name} is ill-conditioned: off float64 are {shown};"
        f" float64 itself moves by {floor:.3g} when every rounding is disturbed"
    )


def _is_unwritten(referee: Referee, name: str, answer: Answer) -> bool:
    """Whether an answer is what the value would be had no in-place operator written anything."""
    unwritten = referee.unwritten.get(name)
    if answer.array is None or unwritten is None or unwritten.shape != answer.shape:
        return False
    if np.array_equal(as_float64(unwritten), as_float64(referee.exact[name]), equal_nan=True):
        return False
    rtol, atol = tolerance_of(answer.dtype)
    return bool(
        np.allclose(
            as_float64(answer.array), as_float64(unwritten), 4 * rtol, 4 * atol, equal_nan=True
        )
    )


def _agrees_outside_torch(gaps: Mapping[str, Gap]) -> bool:
    """Whether another framework sides with the NumPy referee, so that PyTorch stands alone."""
    return any(not found.counts for mode, found in gaps.items() if framework_of(mode) != "torch")


def is_disputed(
    comparison: Comparison, call: int, place: int, name: str, *, mode: str = "torch-eager-f64"
) -> bool:
    """Whether a mode, PyTorch in float64 if none is named, contradicts the NumPy referee."""
    double = comparison.outcomes.get(mode)
    if double is None or call >= len(double.calls) or place >= len(double.calls[call].outputs):
        return False
    array = double.calls[call].outputs[place].array
    exact = as_float64(comparison.referees[call].exact[name])
    if array is None:
        return False
    seen = as_float64(array)
    if seen.shape != exact.shape:
        return True
    declared = _types(comparison, call)[name]
    rtol, atol = tolerance_of(declared.dtype) if isinstance(declared, Dense) else (0.0, 0.0)
    with np.errstate(all="ignore"):
        classes = nonfinite_classes(seen) != nonfinite_classes(exact)
        apart = distance(array, comparison.referees[call].exact[name])
        far = apart > atol / 2 + rtol / 2 * np.abs(exact)
    return bool(classes.any() or far[~classes & np.isfinite(exact)].any())


def accuse(
    comparison: Comparison,
    gaps: Mapping[str, Gap],
    name: str,
    kinds: tuple[Kind, Kind],
    *,
    second: bool = False,
    referee: Referee | None = None,
) -> Iterator[Divergence | str]:
    agreeing = {mode for mode, found in gaps.items() if not found.counts}
    for framework in comparison.frameworks():
        baseline = gaps.get(BASELINE[framework])
        wrong = [
            mode for mode, found in gaps.items() if framework_of(mode) == framework and found.counts
        ]
        accused = []
        for mode in wrong:
            if not comparison.witnesses(mode, agreeing):
                said = f"{name}: {mode} differs from the referee, and nothing else agrees with it"
                yield Doubt(said, framework=framework)
            elif mode != BASELINE[framework] and baseline and baseline.units >= gaps[mode].units:
                if not gaps[mode].nonfinite > baseline.nonfinite:
                    if BASELINE[framework] in wrong:
                        accused.append(mode)
                    continue
                accused.append(mode)
            else:
                accused.append(mode)
        disputed = referee and name in disputed_values(comparison.case.graph, referee)
        if disputed and comparison.all_accused(framework, accused):
            if accused:
                yield f"{name}: pages and customs do not agree on these values"
            continue
        if referee and accused and comparison.all_accused(framework, accused):
            composed = _composed_overflow(comparison, framework, referee, name)
            if composed:
                yield f"{name}: {composed} is written as several calls, between which it overflows"
                continue
        if viewing := comparison.excused_view(framework, name, accused):
            yield f"{name}: {framework} does not promise that {viewing} is a view"
            continue
        unwritten = comparison.unpromised_writes(framework, name) if accused else ()
        if unwritten and comparison.all_accused(framework, accused):
            yield f"{name}: {framework} does not promise that {unwritten[0]} writes to its operand"
            continue
        if accused and (copies := comparison.unpromised_copies(name)):
            yield f"{name}: nothing promises that {copies[0]} answers with a copy"
            continue
        if accused:
            nonfinite = any(gaps[mode].nonfinite for mode in accused)
            kind = Kind.SECOND_CALL if second else kinds[1] if nonfinite else kinds[0]
            worst = max(accused, key=lambda mode: (gaps[mode].nonfinite, gaps[mode].units))
            yield Divergence(
                kind,
                framework,
                tuple(accused),
                value=name,
                evidence=_evidence(gaps, accused, agreeing),
                errors=tuple((mode, found.units) for mode, found in gaps.items()),
                worst=gaps[worst].worst,
            )


def _composed_overflow(comparison: Comparison, framework: str, referee: Referee, name: str) -> str:
    """The operator, written as a composition of calls, that numbers beyond a cube root of their
    range are given on the way to a value: what overflows between the calls is our doing."""
    graph = referee.case.graph
    needed = comparison.needed_for(name)
    composed = {
        node.name: node.op
        for node in graph.nodes
        if node.name in needed and form_name(graph, node, framework).startswith("composed")
    }
    return next(iter(composed.values())) if overflows_on_the_way(graph, referee, composed) else ""


def _evidence(gaps: Mapping[str, Gap], accused: list[str], agreeing: set[str]) -> tuple[str, ...]:
    said = []
    for mode in accused:
        found = gaps[mode]
        if found.nonfinite:
            said.append(
                f"{mode}: NaN or Inf where it must not be, or the reverse, at"
                f" {found.nonfinite} elements"
            )
        else:
            said.append(f"{mode}: error {found.raw:.3g}, {found.units:.3g} times what is allowed")
    said.extend(f"{mode} agrees with the float64 referee" for mode in sorted(agreeing))
    return tuple(said)


def _types(comparison: Comparison, call: int) -> Mapping[str, Type]:
    """Types of all values in one of the calls, which may have inputs of other types."""
    if call < len(comparison.referees):
        return comparison.referees[call].case.graph.types
    return comparison.case.graph.types
