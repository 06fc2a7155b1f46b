"""The way from a seed to a mutant: one comparison of two graphs for each mutation, and for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.finding import Finding, Step
from engine.ir.graph import Graph, Input, Node
from engine.ir.text import parse_case, parse_graph, print_graph
from engine.ir.types import Type
from triage.window import shared_window

__all__ = [
    "ALL",
    "ROUND",
    "Comparison",
    "comparisons",
    "composed",
    "graph_of",
    "round_length",
    "stages",
    "whole_way",
]

ALL, ROUND = "all", "round"
_TOGETHER = " + "
Facts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Comparison:
    """Two graphs as text, and facts of their values where they are known.

    `name`: number of the mutation in the lineage, from "1"; `ROUND` for all mutations of the last
    round, `ALL` for the seed against the mutant. `changed`: names of nodes in `after` that were
    touched.
    """

    name: str
    mutator: str
    before: str
    after: str
    changed: tuple[str, ...] = ()
    facts_before: Facts = field(default_factory=dict)
    facts_after: Facts = field(default_factory=dict)


def graph_of(text: str) -> Graph:
    """The graph of a text that is one, or a case; `engine.errors.BadInput` where it is neither."""
    lines: Iterator[str] = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return parse_case(text).graph if first.startswith("case") else parse_graph(text)


def stages(finding: Finding) -> tuple[tuple[str, str], ...]:
    """Number and mutator of each mutation from the seed, oldest first."""
    names = finding.lineage or ((finding.mutator,) if finding.mutator else ())
    return tuple((str(place), name) for place, name in enumerate(names, start=1))


def round_length(finding: Finding) -> int:
    """How many mutations the last round made: a round may make several, which it names together."""
    names = finding.mutator.split(_TOGETHER)
    return len(names) if finding.lineage[-len(names) :] == tuple(names) else 1


def comparisons(finding: Finding) -> tuple[Comparison, ...]:
    """Each mutation at hand, oldest first, then the last round where that made several.

    What the last round did is always there where the finding has graphs, and it alone has facts.
    """
    steps = _numbered(finding)
    shown = {
        place: Comparison(str(place), step.mutator, step.before, step.after, step.changed)
        for place, step in steps.items()
    }
    if finding.parent_text and finding.mutant_text:
        last, alone = max(len(finding.lineage), 1), round_length(finding) == 1
        shown[last if alone else last + 1] = Comparison(
            str(last) if alone else ROUND,
            finding.mutator,
            finding.parent_text,
            finding.mutant_text,
            finding.changed,
            finding.parent_facts,
            finding.mutant_facts,
        )
    return tuple(shown[place] for place in sorted(shown))


def whole_way(steps: Sequence[Comparison]) -> Comparison:
    """The seed against the mutant; `engine.errors.BadInput` where a step cannot be read."""
    seed, mutant = composed(steps)
    last = steps[-1]
    return Comparison(
        ALL,
        "",
        print_graph(seed),
        print_graph(mutant),
        facts_before={
            one: last.facts_before[one] for one in seed.types if one in last.facts_before
        },
        facts_after=last.facts_after,
    )


def _numbered(finding: Finding) -> dict[int, Step]:
    """Steps by their place in the lineage, from 1, matched from its end: any may be missing."""
    found: dict[int, Step] = {}
    place = len(finding.lineage)
    for step in reversed(finding.steps):
        while place and finding.lineage[place - 1] != step.mutator:
            place -= 1
        if not place:
            break
        found[place] = step
        place -= 1
    return found


def composed(steps: Sequence[Comparison]) -> tuple[Graph, Graph]:
    """The seed and the mutant as far as the windows of the steps show them."""
    seed: dict[str, Node] = {}
    now: dict[str, Node] = {}
    made: set[str] = set()
    inputs: dict[str, Input] = {}
    types: dict[str, Type] = {}
    order: list[str] = []
    for step in steps:
        before, after = shared_window(graph_of(step.before), graph_of(step.after), step.changed)
        for graph in (before, after):
            types.update(graph.types)
            inputs.update((one.name, one) for one in graph.inputs if one.name not in inputs)
            _merge(order, [node.name for node in graph.nodes])
        for node in before.nodes:
            if node.name not in made:
                seed.setdefault(node.name, node)
            now.setdefault(node.name, node)
        gone = before.by_name.keys() - after.by_name.keys()
        now = {name: node for name, node in now.items() if name not in gone} | dict(after.by_name)
        made |= after.by_name.keys() - before.by_name.keys()
    name = graph_of(steps[0].before).name
    given = {one: inputs.get(one) or Input(one, type_) for one, type_ in types.items()}
    return _graph(name, seed, order, given), _graph(name, now, order, given)


def _merge(order: list[str], names: Iterable[str]) -> None:
    """Put names that are new behind the one before them."""
    last = -1
    for name in names:
        if name in order:
            last = order.index(name)
        else:
            last += 1
            order.insert(last, name)


def _graph(
    name: str, nodes: Mapping[str, Node], order: Iterable[str], inputs: Mapping[str, Input]
) -> Graph:
    """The nodes, each behind what it uses; what none of them makes is given."""
    placed: dict[str, Node] = {}
    for one in order:
        if one in nodes:
            _place(one, nodes, placed)
    uses = dict.fromkeys(one for node in placed.values() for one in node.uses)
    given = tuple(inputs[one] for one in uses if one not in placed)
    ends = tuple(one for one in placed if one not in uses)
    return Graph(name, given, tuple(placed.values()), ends)


def _place(name: str, nodes: Mapping[str, Node], placed: dict[str, Node]) -> None:
    """Place a node behind all that it needs. Depth first, without recursion: chains are long."""
    pending = [name]
    while pending:
        one = pending[-1]
        waiting = [
            used
            for used in nodes[one].uses
            if used in nodes and used not in placed and used not in pending
        ]
        if waiting:
            pending.append(waiting[0])
            continue
        placed.setdefault(one, nodes[one])
        pending.pop()
