"""Whether a mutant is alive: its outputs still depend on the inputs and still say something."""

from __future__ import annotations

from collections.abc import Mapping

from engine.executors.outcome import Answer
from engine.ir.graph import Graph

__all__ = ["why_dead"]


def why_dead(
    parent: Graph,
    before: Mapping[str, Answer],
    mutant: Graph,
    after: Mapping[str, Answer],
) -> str:
    """Why the mutant cannot go on, "" where it is alive.

    Each output of the parent that depended on an input, was finite, or varied must do so in the
    mutant. `before` and `after`: what was recorded of the two. Outputs keep their places, and those
    that a mutation added are free.
    """
    for old, new in zip(parent.outputs, mutant.outputs, strict=False):
        if _depends(parent, old) and not _depends(mutant, new):
            return f"output {new} no longer depends on an input"
        was, now = _summary(before, old), _summary(after, new)
        if not was or not now:
            continue
        if not _wild(was) and _wild(now):
            return f"output {new} holds {_wild(now)} values that are not finite, had none"
        if not _is_constant(was) and _is_constant(now):
            return f"output {new} has the same value everywhere, had several"
    return ""


def _depends(graph: Graph, output: str) -> bool:
    """Whether an output is computed from an input of the model, however far back."""
    wanted, storage = {output}, {graph.alias_root(output)}
    for node in reversed(graph.nodes):
        if node.name in wanted or (node.writes and graph.alias_root(node.writes) in storage):
            wanted.update(node.uses)
            storage.update(graph.alias_root(name) for name in node.uses)
    return any(given.name in wanted for given in graph.inputs if given.role == "input")


def _summary(facts: Mapping[str, Answer], name: str) -> Mapping[str, float]:
    found = facts.get(name)
    return {} if found is None else found.summary


def _wild(summary: Mapping[str, float]) -> int:
    return int(summary.get("nans", 0) + summary.get("infs", 0))


def _is_constant(summary: Mapping[str, float]) -> bool:
    return summary.get("size", 0) > 1 and summary.get("std", 0.0) == 0.0
