"""The ladder: every oracle over one comparison, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from engine.executors.outcome import Status
from engine.oracles import calls, counterparts, crash, gradients, layout, numerical, state
from engine.oracles.comparison import BASELINE, Comparison
from engine.oracles.keys import normalise
from engine.oracles.limits import KnownLimit, limit_of
from engine.oracles.verdict import Divergence, Doubt, Kind, Ruling, Verdict

__all__ = ["ORACLES", "PHRASES", "describe", "judge", "modes_in_words"]

Oracle: TypeAlias = "Callable[[Comparison], Iterator[Divergence | str]]"

# An oracle yields divergences that count and sentences about what it could not decide.
ORACLES: dict[str, Oracle] = {
    "native death": crash.deaths,
    "hang": crash.hangs,
    "internal error": crash.internal_errors,
    "raises": crash.raises,
    "metadata": numerical.metadata,
    "values": numerical.values,
    "gradients": gradients.gradients,
    "repeated calls": calls.repeated_calls,
    "inputs after the call": state.inputs_after,
    "shared storage": layout.promised_storage,
    "strides": layout.promised_strides,
    "global state": state.moved_state,
    "counterpart": counterparts.counterparts,
}
_WORST_FIRST = (
    Kind.DIED,
    Kind.HANG,
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
    Kind.IN_FORM,
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
    doubted: set[str] = set()
    for name, oracle in ORACLES.items():
        for said in oracle(comparison):
            if isinstance(said, Divergence):
                divergences.append(said)
                continue
            notes.append(f"{name}: {said}")
            if isinstance(said, Doubt):
                doubted.add(said.framework)
    divergences = _told_once(_unmasked(divergences))
    divergences.sort(key=lambda one: _WORST_FIRST.index(one.kind))
    divergences, limits = _beyond_limits(comparison, divergences)
    notes = [*(f"known limit: {one.name}: {one.says} ({one.source})" for one in limits), *notes]
    made = replace(
        _ruled(comparison, divergences, notes),
        notes=tuple(notes),
        limits=tuple(one.name for one in limits),
    )
    return made if made.failed else replace(made, doubted=frozenset(doubted))


def _ruled(comparison: Comparison, divergences: list[Divergence], notes: list[str]) -> Verdict:
    if divergences:
        return Verdict(Ruling.FAIL, describe(divergences[0]), tuple(divergences))
    baseline = comparison.outcomes.get(BASELINE["torch"])
    if baseline is not None and baseline.status is not Status.OK:
        failure = baseline.failure
        said = normalise(failure.type, failure.message) if failure else baseline.status
        return Verdict(Ruling.ILLEGAL, f"torch-eager: {said}")
    if not comparison.ok:
        return Verdict(Ruling.INCONCLUSIVE, "no mode answered")
    if notes:
        return Verdict(Ruling.INCONCLUSIVE, notes[0])
    return Verdict(Ruling.PASS, f"{len(comparison.ok)} modes agree")


def _beyond_limits(
    comparison: Comparison, divergences: list[Divergence]
) -> tuple[list[Divergence], list[KnownLimit]]:
    """The divergences that no known limit covers, and the limits that cover the others.

    Of one that accuses several modes, those remain that no limit covers.
    """
    kept: list[Divergence] = []
    limits: dict[str, KnownLimit] = {}
    for one in divergences:
        limit = limit_of(comparison, one)
        if limit is not None:
            limits[limit.name] = limit
            continue
        alone = {mode: limit_of(comparison, replace(one, modes=(mode,))) for mode in one.modes}
        limits |= {found.name: found for found in alone.values() if found is not None}
        kept.append(_without(one, {mode for mode, found in alone.items() if found is not None}))
    return kept, list(limits.values())


def _without(divergence: Divergence, modes: set[str]) -> Divergence:
    """The divergence without some of its modes, and without what is said of them alone."""
    if not modes:
        return divergence
    left = tuple(mode for mode in divergence.modes if mode not in modes)
    said = tuple(
        one
        for one in divergence.evidence
        if any(mode in one for mode in left) or not any(mode in one for mode in modes)
    )
    errors = tuple((mode, error) for mode, error in divergence.errors if mode not in modes)
    return replace(divergence, modes=left, evidence=said, errors=errors)


def describe(divergence: Divergence) -> str:
    """One sentence: who is accused of what, and the first piece of evidence."""
    where = f" at {divergence.value}" if divergence.value else ""
    evidence = f" ({divergence.evidence[0]})" if divergence.evidence else ""
    return f"{modes_in_words(divergence)} {PHRASES[divergence.kind]}{where}{evidence}"


def modes_in_words(divergence: Divergence) -> str:
    """The accused modes as a person calls them."""
    return " and ".join(_WORDS.get(mode, mode) for mode in divergence.modes)


_WORDS = {
    "torch-eager": "PyTorch eager",
    "torch-aot": "torch.compile (aot_eager)",
    "torch-inductor": "torch.compile (inductor)",
    "mindspore-pynative": "MindSpore PyNative",
    "mindspore-graph": "MindSpore Graph mode",
}
# What the accused did, in the past tense, so that one mode or two read alike.
PHRASES = {
    Kind.DIED: "killed the process",
    Kind.HANG: "did not come back",
    Kind.INTERNAL: "failed an internal assertion",
    Kind.RAISES: "raised where another mode answers",
    Kind.DOCUMENTED: "raised although the documentation lists CPU",
    Kind.IN_FORM: "raised where another form of the call answers",
    Kind.STRUCTURE: "returned another structure",
    Kind.DTYPE: "returned another dtype",
    Kind.SHAPE: "returned another shape",
    Kind.NONFINITE: "got NaN or Inf wrong",
    Kind.VALUES: "gave wrong values",
    Kind.GRADIENT: "gave a wrong gradient",
    Kind.GRADIENT_NONFINITE: "got NaN or Inf wrong in the gradient",
    Kind.GRADIENT_RAISES: "raised in the gradient only",
    Kind.INPUT_CHANGED: "changed an input that nothing writes to",
    Kind.WRITE_LOST: "lost an in-place result",
    Kind.SECOND_CALL: "answered otherwise on the second call",
    Kind.MOVED: "moved global state",
    Kind.LAYOUT: "returned another layout than promised",
}


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


def _told_once(divergences: list[Divergence]) -> list[Divergence]:
    """Drop what another oracle said of the same mode, kind and value already."""
    told: set[tuple[Kind, str, str]] = set()
    kept = []
    for one in divergences:
        seen = {(one.kind, one.value, mode) for mode in one.modes}
        if not one.value or not told.issuperset(seen):
            kept.append(one)
        told |= seen
    return kept
