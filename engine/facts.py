"""Profiled facts of the values of a graph, as words for a person."""

from __future__ import annotations

from collections.abc import Mapping

from engine.ir.graph import Graph
from engine.ir.types import Dense
from engine.tfg import EdgeFacts, Fact, FlowGraph

__all__ = ["FACTS", "UNKNOWN", "facts_in_words"]

FACTS = ("dtype", "shape", "strides", "layout", "alias", "gradient", "values")
UNKNOWN = "unknown"


def facts_in_words(graph: Graph, recorded: Mapping[str, Fact]) -> dict[str, dict[str, str]]:
    """For every value of the graph its `FACTS`; `UNKNOWN` where neither run nor type says."""
    flow = FlowGraph(graph, {name: one for name, one in recorded.items() if name in graph.types})
    trainable = [given.name for given in graph.inputs if given.requires_grad]
    reached = frozenset(trainable).union(*map(flow.reach, trainable))
    return {
        name: _in_words(name, flow.facts(name), graph, may_need=name in reached)
        for name in graph.types
    }


def _in_words(name: str, facts: EdgeFacts, graph: Graph, *, may_need: bool) -> dict[str, str]:
    declared = graph.types[name]
    if not isinstance(declared, Dense):
        shape = strides = layout = UNKNOWN
    else:
        shape, strides = _numbers(facts.shape), _numbers(facts.strides)
        layout = facts.layout or UNKNOWN
    return {
        "dtype": facts.dtype or type(declared).__name__.lower(),
        "shape": shape,
        "strides": strides,
        "layout": layout,
        "alias": _alias(name, facts),
        "gradient": _gradient(name, facts, graph, may_need=may_need),
        "values": _values(facts.summary),
    }


def _numbers(given: tuple[int, ...] | None) -> str:
    return UNKNOWN if given is None else f"[{', '.join(map(str, given))}]"


def _alias(name: str, facts: EdgeFacts) -> str:
    """Which value owns the storage, and where in it this one begins."""
    if facts.storage is None:
        return UNKNOWN if facts.is_view is not True else "view, storage unknown"
    offset = "" if facts.offset is None else f", offset {facts.offset}"
    if facts.storage == name:
        return f"own storage{offset}"
    return f"storage of {facts.storage}{offset}{', view' if facts.is_view else ''}"


def _gradient(name: str, facts: EdgeFacts, graph: Graph, *, may_need: bool) -> str:
    """Inputs as they are declared: a recording may have been made without gradients."""
    if name in graph.input_by_name:
        return "required, leaf" if graph.input_by_name[name].requires_grad else "not required"
    if facts.requires_grad:
        return "required"
    return UNKNOWN if facts.requires_grad is None or may_need else "not required"


def _values(summary: Mapping[str, float]) -> str:
    """Moments of the finite elements, and how many are not finite."""
    if not summary:
        return UNKNOWN
    if not summary.get("size", 0.0):
        return "no elements"
    words = [
        f"{name} {summary[name]:.4g}" for name in ("mean", "std", "min", "max") if name in summary
    ]
    words += [f"{label} {summary.get(name, 0.0):.0f}" for name, label in _COUNTS]
    return ", ".join(words)


_COUNTS = (("nans", "NaN"), ("infs", "Inf"))
