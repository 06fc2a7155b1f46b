"""State oracles: inputs and weights after the call, in-place results, global flags."""

from __future__ import annotations

from collections.abc import Iterator

from engine.ir.graph import Graph, Input
from engine.ir.types import Dense
from engine.oracles.comparison import Comparison, framework_of
from engine.oracles.numeric import gap
from engine.oracles.verdict import Divergence, Kind

__all__ = ["inputs_after", "moved_state"]


def inputs_after(comparison: Comparison) -> Iterator[Divergence | str]:
    """Inputs must hold after the call what the writes of the graph put there, and nothing else."""
    if "state" not in comparison.case.plan.checks or not comparison.referees:
        return
    referee = comparison.referees[0]
    answers = comparison.answers(0)
    for given in comparison.case.graph.inputs:
        if not isinstance(given.type, Dense) or given.name in comparison.incomparable:
            continue
        wrong: dict[str, Kind] = {}
        worst: tuple[int, ...] = ()
        for mode, answer in answers.items():
            changed = answer.inputs_after.get(given.name)
            if not _is_written(comparison.case.graph, given):
                if changed is not None:
                    wrong[mode] = Kind.INPUT_CHANGED
                continue
            # Unchanged bytes may be right: what is written may be what was there, but for rounding.
            held = referee.values[given.name] if changed is None else changed.array
            found = None if held is None else gap(held, given.type.dtype, referee, given.name)
            if found is not None and found.counts:
                wrong[mode], worst = Kind.WRITE_LOST, found.worst
        yield from _accuse(comparison, given.name, wrong, set(answers) - set(wrong), worst)


def _is_written(graph: Graph, given: Input) -> bool:
    """Whether a node writes to the storage of an input, under its own or another's name."""
    written = {graph.alias_root(node.writes) for node in graph.nodes if node.writes}
    shared = {
        one.name for one in graph.inputs if one is given or (one.alias and one.alias == given.alias)
    }
    return bool(written & shared)


def _accuse(
    comparison: Comparison,
    name: str,
    wrong: dict[str, Kind],
    right: set[str],
    worst: tuple[int, ...],
) -> Iterator[Divergence | str]:
    for framework in comparison.frameworks():
        for kind in (Kind.INPUT_CHANGED, Kind.WRITE_LOST):
            modes = tuple(
                mode
                for mode, one in wrong.items()
                if one is kind and framework_of(mode) == framework
            )
            if not modes:
                continue
            if viewing := comparison.excused_view(framework, name, modes):
                yield f"{name}: {framework} does not promise that {viewing} is a view"
                continue
            unwritten = comparison.unpromised_writes(framework, name)
            if unwritten and comparison.all_accused(framework, modes):
                yield f"{name}: {framework} does not promise that {unwritten[0]} writes to it"
                continue
            if copies := comparison.unpromised_copies(name):
                yield f"{name}: nothing promises that {copies[0]} answers with a copy"
                continue
            if not any(comparison.witnesses(mode, right) for mode in modes):
                yield f"{name}: {kind} in {', '.join(modes)}, but no other mode says otherwise"
                continue
            yield Divergence(
                kind,
                framework,
                modes,
                value=name,
                worst=worst if kind is Kind.WRITE_LOST else (),
                evidence=(
                    _SAID[kind].format(name=name, modes=", ".join(modes)),
                    *(f"{mode} leaves {name} as it must be" for mode in sorted(right)),
                ),
            )


_SAID = {
    Kind.INPUT_CHANGED: (
        "{modes}: input {name} holds other bytes after the call, and no operator writes to it"
    ),
    Kind.WRITE_LOST: "{modes}: input {name} does not hold what the in-place operators wrote",
}


def moved_state(comparison: Comparison) -> Iterator[Divergence | str]:
    """Global flags that the call moved, and generators where nothing in it is random."""
    moved = {mode: _moved(comparison, mode) for mode in comparison.ok}
    still = {mode for mode, names in moved.items() if not names}
    for mode, names in moved.items():
        if names and comparison.witnesses(mode, still):
            yield Divergence(
                Kind.MOVED,
                framework_of(mode),
                (mode,),
                message=", ".join(names),
                evidence=(f"{mode} changed {', '.join(names)}",),
            )


def _moved(comparison: Comparison, mode: str) -> tuple[str, ...]:
    names = comparison.outcomes[mode].moved
    if not comparison.draws_numbers:
        return names
    return tuple(name for name in names if not name.endswith(("generator", "seed")))
