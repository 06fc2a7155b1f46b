"""What a mutation did to a graph, with the facts of every edge before and after, and look-ups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from engine.facts import FACTS, UNKNOWN
from engine.ir.graph import Graph, Input, Node
from engine.ir.text import print_graph, print_input, print_node, print_type
from engine.ir.types import Dense
from engine.tfg import EdgeChange, GraphDiff, NodeChange, diff
from triage.lineage import Comparison, Facts, graph_of
from triage.picture import WORDS, Notes, edge_id
from triage.window import shared_window

__all__ = ["Details", "Difference", "FactRow", "one_graph"]

# Figures of values differ wherever a mutation did anything at all above, so they mark no edge.
_OWNER = re.compile(r"storage of (\w+)")
_MARKING = FACTS[:-1]


@dataclass(frozen=True)
class FactRow:
    """One fact of a value, "" where it is not known or the value is not there.

    `is_comparable`: whether the two sides saw the value in the same way.
    """

    name: str
    before: str
    after: str
    is_comparable: bool = True

    @property
    def differs(self) -> bool:
        known = {"", UNKNOWN}.isdisjoint((self.before, self.after))
        return self.is_comparable and known and self.before != self.after

    @property
    def text(self) -> str:
        return f"{self.before} → {self.after}" if self.differs else self.after or self.before


@dataclass(frozen=True)
class Details:
    """A chosen node or edge. `before` and `after`: the statement that makes the value.

    `uses` and `users`: edges into and out of the node; for an edge, both are empty.
    """

    kind: str
    id: str
    title: str
    status: str
    before: str
    after: str
    facts: tuple[FactRow, ...]
    uses: tuple[EdgeChange, ...] = ()
    users: tuple[EdgeChange, ...] = ()
    edge: EdgeChange | None = None


def one_graph(text: str, facts: Facts | None = None) -> Comparison:
    """A graph that is compared with nothing, as the comparison with itself."""
    known = facts or {}
    return Comparison("", "", text, text, (), known, known)


class Difference:
    """A comparison worked out. `engine.errors.BadInput` where a text is no graph."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.before, self.after, plain, self._cut = _compared(
            comparison.before, comparison.after, comparison.changed
        )
        self.change = self._with_facts(plain)

    @property
    def is_one_graph(self) -> bool:
        return self.comparison.before == self.comparison.after

    @property
    def has_facts(self) -> bool:
        """Whether a run was recorded; else facts are what the graphs declare."""
        return bool(self.comparison.facts_before or self.comparison.facts_after)

    @cached_property
    def nodes(self) -> Mapping[str, NodeChange]:
        return {node.id: node for node in self.change.nodes}

    @cached_property
    def edges(self) -> Mapping[str, EdgeChange]:
        return {edge_id(edge): edge for edge in self.change.edges}

    @cached_property
    def texts(self) -> tuple[str, str]:
        return print_graph(self.before), print_graph(self.after)

    @property
    def summary(self) -> str:
        """What the mutation did, in words."""
        if self.is_one_graph:
            given = len(self.after.inputs)
            return f"{len(self.after.nodes)} operators, {given} inputs and weights"
        nodes = _counted([node.status for node in self.change.nodes], "node")
        edges = _counted([edge.status for edge in self.change.edges], "edge")
        return "; ".join(one for one in (nodes or "no node differs", edges) if one)

    # -------------------------------------------------------------------------------- facts
    def facts(self, value: str) -> tuple[FactRow, ...]:
        """Facts before and after: recorded ones where there are, else what the graphs declare."""
        old, new = self._recorded(value)
        if not old and not new:
            old, new = _declared(self.before, value), _declared(self.after, value)
        names = dict.fromkeys((*(one for one in FACTS if one in old or one in new), *old, *new))
        return tuple(self._row(value, name, old.get(name, ""), new.get(name, "")) for name in names)

    def _row(self, value: str, name: str, before: str, after: str) -> FactRow:
        """Where a window begins, a value owns its storage and is a leaf, whatever made it."""
        comparable = True
        if name in {"alias", "gradient"}:
            comparable = value not in self._cut
        if name == "alias":
            sides = ((before, self.before), (after, self.after))
            owners = [(_OWNER.search(text), graph) for text, graph in sides]
            comparable &= all(not found or found[1] in graph.types for found, graph in owners)
        return FactRow(name, before, after, comparable)

    def _recorded(self, value: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Both sides or none, where the value is in both graphs: words of two sources differ."""
        old = self.comparison.facts_before.get(value, {}) if value in self.before.types else {}
        new = self.comparison.facts_after.get(value, {}) if value in self.after.types else {}
        both = value in self.before.types and value in self.after.types
        return ({}, {}) if both and not (old and new) else (old, new)

    def _with_facts(self, plain: GraphDiff) -> GraphDiff:
        """Edges whose value has another layout, alias or gradient are changed too."""
        if self.is_one_graph or not self.has_facts:
            return plain
        edges = tuple(
            replace(edge, status="changed")
            if edge.status == "same" and self._marks(edge.value)
            else edge
            for edge in plain.edges
        )
        return replace(plain, edges=edges)

    def _marks(self, value: str) -> tuple[FactRow, ...]:
        return tuple(row for row in self.facts(value) if row.differs and row.name in _MARKING)

    def notes(self, *, diverges: str = "") -> Notes:
        """Labels and tooltips of a picture."""
        labels, tips = {}, {}
        for one, edge in self.edges.items():
            rows = self.facts(edge.value) if self.has_facts else ()
            marks = [row for row in rows if row.differs and row.name in _MARKING]
            if edge.status == "changed" and marks:
                more = f" and {len(marks) - 1} more" if len(marks) > 1 else ""
                labels[one] = f"{marks[0].name} {marks[0].text}{more}"
            if rows:
                said = "; ".join(
                    f"{row.name} {row.text}" for row in rows if row.text not in {"", UNKNOWN}
                )
                tips[one] = (
                    f"{WORDS[edge.status]}: {edge.source} into {edge.target}, "
                    f"operand {edge.slot}; {said}"
                )
        return Notes(labels, tips, diverges)

    # ------------------------------------------------------------------------------ look-ups
    def found(self, text: str) -> tuple[str, ...]:
        """Nodes whose name or operator holds the text: whole matches, then beginnings, then all."""
        wanted = text.strip().casefold()
        if not wanted:
            return ()
        ranked: list[tuple[bool, bool, int, str]] = []
        for place, node in enumerate(self.change.nodes):
            words = [node.id.casefold(), node.op.casefold(), *node.form.casefold().split()]
            if any(wanted in word for word in words):
                begins = any(word.startswith(wanted) for word in words)
                ranked.append((wanted not in words, not begins, place, node.id))
        return tuple(name for _, _, _, name in sorted(ranked))

    def node_details(self, name: str) -> Details | None:
        node = self.nodes.get(name)
        if node is None:
            return None
        return Details(
            "node",
            name,
            node.label,
            node.status,
            _statement(self.before, name),
            _statement(self.after, name),
            self.facts(name),
            tuple(edge for edge in self.change.edges if edge.target == name),
            tuple(edge for edge in self.change.edges if edge.source == name),
        )

    def edge_details(self, name: str) -> Details | None:
        edge = self.edges.get(name)
        if edge is None:
            return None
        return Details(
            "edge",
            name,
            f"{edge.source} into {edge.target}, operand {edge.slot}",
            edge.status,
            _statement(self.before, edge.value),
            _statement(self.after, edge.value),
            self.facts(edge.value),
            edge=edge,
        )


@lru_cache(maxsize=32)
def _compared(
    parent: str, mutant: str, changed: tuple[str, ...]
) -> tuple[Graph, Graph, GraphDiff, frozenset[str]]:
    """Both graphs, their difference, and the values that only one of them is given."""
    if parent == mutant:
        graph = graph_of(parent)
        return graph, graph, diff(graph, graph), frozenset()
    whole = graph_of(parent), graph_of(mutant)
    before, after = shared_window(*whole, changed)
    cut = whole[0].input_by_name.keys() ^ whole[1].input_by_name.keys()
    return before, after, diff(before, after), frozenset(cut)


def _counted(statuses: list[str], noun: str) -> str:
    counts = [(statuses.count(word), word) for word in ("added", "removed", "changed")]
    said = [(count, word) for count, word in counts if count]
    text = ", ".join(f"{count} {word}" for count, word in said)
    return f"{text} {noun}{'' if said[-1][0] == 1 else 's'}" if said else ""


def _declared(graph: Graph, value: str) -> Mapping[str, str]:
    """What the graph itself says of a value."""
    type_ = graph.types.get(value)
    if type_ is None:
        return {}
    facts = {"type": print_type(type_)}
    if isinstance(type_, Dense):
        shape = print_type(Dense("", type_.shape))
        facts = {"dtype": type_.dtype, "shape": shape}
        if type_.strides is not None:
            facts["strides"] = f"({', '.join(map(str, type_.strides))})"
    made: Node | None = graph.by_name.get(value)
    if made is not None:
        shared = {"view of": made.views, "writes to": made.writes}
        alias = ", ".join(f"{word} {name}" for word, name in shared.items() if name)
        return facts | ({"alias": alias} if alias else {})
    given: Input = graph.input_by_name[value]
    facts["layout"] = given.layout
    if given.alias:
        facts["alias"] = f"group {given.alias}"
    if given.requires_grad:
        facts["gradient"] = "required"
    return facts


def _statement(graph: Graph, value: str) -> str:
    if value in graph.by_name:
        return print_node(graph.by_name[value])
    given = graph.input_by_name.get(value)
    return "" if given is None else f"{given.role} {print_input(given)}"
