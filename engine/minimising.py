"""A failing case made as small as its failure allows: cut, renamed, and judged again."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace

from engine.executors.outcome import Array
from engine.finding import Localised
from engine.ir.case import Case
from engine.minimiser import Budget, minimise, renamed
from engine.oracles.comparison import BASELINE, framework_of
from engine.oracles.verdict import Divergence, Kind
from engine.trial import Bench, Trial, failed_with

# What has more operators than this when its budget is spent gets as many times the budget again: a
# person reads it, and a campaign minimises a failure once.
_FEW = 3
_MORE = 2

__all__ = ["Smallest", "needed_modes", "smallest"]


@dataclass(frozen=True)
class Smallest:
    """`trial` and `divergence` are of the minimised case. `bench`: for further runs, with no
    more patience for a known hang than it needs."""

    trial: Trial
    divergence: Divergence
    bench: Bench


def smallest(
    trial: Trial,
    divergence: Divergence,
    bench: Bench,
    blobs: MutableMapping[str, Array],
    *,
    located: Sequence[Localised],
    seconds: float,
    changed: Sequence[str] = (),
) -> Smallest | None:
    """The smallest case with the failure key of a divergence of `trial`, within a budget.

    `located`: where the failure begins in `trial`. `changed`: nodes that a mutation touched. None
    where the case itself does not fail again.
    """
    case, key = trial.case, divergence.key
    modes = needed_modes(divergence, bench.modes)
    is_hang = divergence.kind is Kind.HANG
    quick = replace(bench, hasty=divergence.modes) if is_hang else bench

    must_be_legal = _is_legal(trial)

    def keeps(attempt: Case) -> bool:
        made = quick.trial(attempt, blobs, modes=modes)
        return failed_with(made, key) and (_is_legal(made) or not must_be_legal)

    suspects = _suspects(trial, divergence, located, changed)
    budget = Budget(seconds=seconds)
    shrunk = minimise(case, blobs, keeps, budget=budget, suspects=suspects)
    if not budget.is_left and len(shrunk.graph.calls) > _FEW:
        shrunk = minimise(shrunk, blobs, keeps, budget=Budget(seconds=_MORE * seconds))
    # A message may quote the name of a value; the short names are then not the same failure. What
    # was slow to an attempt may be no hang to a bench that has time.
    for small in (renamed(shrunk), shrunk, *((case,) if is_hang else ())):
        again = bench.trial(small, blobs, modes=modes)
        for one in again.verdict.divergences:
            if one.key == key:
                return Smallest(again, one, quick)
    return None


def _is_legal(trial: Trial) -> bool:
    """Whether PyTorch's eager mode runs the program, with its gradient. One that it runs is not
    made into one that it refuses: another framework may refuse that for the same reason."""
    outcome = trial.outcomes.get(BASELINE["torch"])
    return outcome is not None and outcome.is_complete


def needed_modes(divergence: Divergence, modes: Sequence[str]) -> tuple[str, ...]:
    """The modes that a failure is minimised in: those accused, and the baselines, who testify.

    Compiling is what a minimisation spends its time on. The key names the failing modes, so other
    compiled modes of PyTorch, which agreed, stay out of every attempt.
    """
    own = [
        mode
        for mode in modes
        if framework_of(mode) == divergence.framework
        and (mode in divergence.modes or mode in _BASELINES or framework_of(mode) == "mindspore")
    ]
    others = [one for one in BASELINE.values() if one in modes]
    return tuple(dict.fromkeys((BASELINE["torch"], *own, *others)))


_BASELINES = (*BASELINE.values(), "torch-eager-f64")


def _suspects(
    trial: Trial,
    divergence: Divergence,
    located: Sequence[Localised],
    changed: Sequence[str],
) -> tuple[str, ...]:
    """Nodes where the failure seems to be, likeliest first: where it was localised (backward: what
    reads the value whose gradient is wrong), what raised or answered wrongly, what was changed."""
    graph = trial.case.graph
    names: list[str] = []
    for one in located:
        readers = graph.users.get(one.value, ()) if one.direction == "backward" else ()
        names += [*readers, one.value]
    names += [divergence.node, divergence.value.removeprefix("gradient of "), *changed]
    return tuple(one for one in dict.fromkeys(names) if one in graph.by_name)
