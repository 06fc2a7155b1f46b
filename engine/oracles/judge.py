"""The ladder: every oracle over one comparison, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from engine.executors.outcome import Status
from engine.oracles import crash, numerical, state
from engine.oracles.comparison import BASELINE, Comparison
from engine.oracles.keys import normalise
from engine.oracles.verdict import Divergence, Kind, Ruling, Verdict

__all__ = ["ORACLES", "judge"]

Oracle: TypeAlias = "Callable[[Comparison], Iterator[Divergence | str]]"

# An oracle yields divergences that count and sentences about what it could not decide.
ORACLES: dict[str, Oracle] = {
    "native death": crash.deaths,
    "internal error": crash.internal_errors,
    "raises": crash.raises,
    "metadata": numerical.metadata,
    "values": numerical.values,
    "gradients": numerical.gradients,
    "inputs after the call": state.inputs_after,
    "global state": state.moved_state,
}
_WORST_FIRST = (
    Kind.DIED,
    Kind.INTERNAL,
    Kind.STRUCTURE,
    Kind.SHAPE,
    Kind.DTYPE,
    Kind.INPUT_CHANGED,
    Kind.WRITE_LOST,
    Kind.NONFINITE,
    Kind.VALUES,
    Kind.SECOND_CALL,
    Kind.RAISES,
    Kind.GRADIENT_NONFINITE,
    Kind.GRADIENT,
    Kind.GRADIENT_RAISES,
    Kind.DOCUMENTED,
    Kind.MOVED,
    Kind.LAYOUT,
)


def judge(comparison: Comparison) -> Verdict:
    """Rule over one comparison.

    ILLEGAL: the baseline of PyTorch raises, so the mutant is not a legal program. INCONCLUSIVE: an
    oracle saw something it could not attribute. FAIL: at least one divergence counts.
    """
    divergences: list[Divergence] = []
    notes: list[str] = []
    for name, oracle in ORACLES.items():
        for said in oracle(comparison):
            if isinstance(said, Divergence):
                divergences.append(said)
            else:
                notes.append(f"{name}: {said}")
    divergences = _unmasked(divergences)
    divergences.sort(key=lambda one: _WORST_FIRST.index(one.kind))
    if divergences:
        reason = describe(divergences[0])
        return Verdict(Ruling.FAIL, reason, tuple(divergences), tuple(notes))
    baseline = comparison.outcomes.get(BASELINE["torch"])
    if baseline is not None and baseline.status is not Status.OK:
        failure = baseline.failure
        said = normalise(failure.type, failure.message) if failure else baseline.status
        return Verdict(Ruling.ILLEGAL, f"torch-eager: {said}", (), tuple(notes))
    if not comparison.ok:
        return Verdict(Ruling.INCONCLUSIVE, "no mode answered", (), tuple(notes))
    if notes:
        return Verdict(Ruling.INCONCLUSIVE, notes[0], (), tuple(notes))
    return Verdict(Ruling.PASS, f"{len(comparison.ok)} modes agree", (), ())


def describe(divergence: Divergence) -> str:
    """One sentence: who is accused of what, and the first piece of evidence."""
    who = ", ".join(divergence.modes)
    what = f"{divergence.kind}"
    where = f" of {divergence.value}" if divergence.value else ""
    evidence = f": {divergence.evidence[0]}" if divergence.evidence else ""
    return f"{who} is wrong ({what}{where}){evidence}"


def _unmasked(divergences: list[Divergence]) -> list[Divergence]:
    """Drop differences in values that a wrong shape or dtype of the same value explains."""
    explained = {
        (one.value, mode)
        for one in divergences
        if one.kind in (Kind.SHAPE, Kind.DTYPE, Kind.STRUCTURE)
        for mode in one.modes
    }
    return [
        one
        for one in divergences
        if one.kind in (Kind.SHAPE, Kind.DTYPE, Kind.STRUCTURE)
        or not any((one.value, mode) in explained for mode in one.modes)
    ]
