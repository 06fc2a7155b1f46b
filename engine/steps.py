"""Steps of a lineage: the window round each mutation before and after it, as graph texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.errors import BadInput
from engine.finding import Step
from engine.ir.case import Case
from engine.ir.graph import Graph, Input, Node
from engine.ir.text import print_case, print_input
from engine.ir.types import Tuple
from engine.ir.window import closure, neighbourhood
from engine.mutators.apply import touched

__all__ = ["KEPT", "LARGEST", "newest", "restored", "step"]

# A step shows at most this many nodes, and a chain remembers at most this many steps.
LARGEST = 40
KEPT = 20
_CONTEXT = 3


def step(mutator: str, before: Graph, after: Graph) -> Step:
    """What a mutation did to a graph, in windows of the two that show the same place.

    Values that enter a window are inputs without an initialiser: what they held is not kept. Of a
    mutation that touches more than `LARGEST` nodes the first are shown.
    """
    changed = touched(before, after)
    gone = tuple(node.name for node in before.nodes if node.name not in after.by_name)
    inputs = {one.name for one in after.inputs if before.input_by_name.get(one.name) != one}
    readers = tuple(node.name for node in after.nodes if inputs.intersection(node.uses))
    centre = (changed or readers or _neighbours(before, after, gone))[:LARGEST]
    shown = _window(after, centre)
    if not gone and not any(one in before.by_name for one in shown):
        # New nodes that touch inputs alone: who else reads those shows where they are.
        shown = _window(after, (*shown, *_neighbours(after, before, shown)))
    # The place in the parent: what both graphs have of the window, and what is gone.
    place = (*(one for one in shown if one in before.by_name), *gone)
    earlier = _window(before, place[:LARGEST], context=0)
    return Step(
        mutator=mutator,
        before=_text(before, earlier),
        after=_text(after, shown),
        changed=tuple(one for one in changed if one in shown),
    )


def newest(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that are remembered."""
    return tuple(steps)[-KEPT:]


def restored(data: object) -> tuple[Step, ...]:
    """Steps as a checkpoint has them; none in one that an earlier version wrote."""
    if data is None:
        return ()
    if not isinstance(data, list) or not all(isinstance(one, Mapping) for one in data):
        raise BadInput("checkpoint field steps", seen=type(data).__name__, expected="a list")
    return tuple(
        Step(str(one["mutator"]), str(one["before"]), str(one["after"]), tuple(one["changed"]))
        for one in data
    )


def _neighbours(graph: Graph, other: Graph, gone: Iterable[str]) -> tuple[str, ...]:
    """Nodes of `other` beside those that only `graph` has; its last node where there are none."""
    beside = [
        name
        for one in gone
        if one in graph.by_name
        for name in (*graph.by_name[one].uses, *graph.users[one])
    ]
    readers = [other.users[one][:2] for one in beside if one in other.input_by_name]
    found = [one for one in beside if one in other.by_name]
    found += [one for several in readers for one in several]
    return tuple(dict.fromkeys(found)) or tuple(node.name for node in other.nodes[-1:])


def _window(graph: Graph, centre: Iterable[str], *, context: int = _CONTEXT) -> tuple[str, ...]:
    """Names round the centre, in order; what only comes whole (tuples) comes whole."""
    wanted = tuple(dict.fromkeys(centre))
    names = neighbourhood(graph, wanted, limit=min(LARGEST, len(wanted) + context))
    whole = closure(graph, names)
    kept = whole if len(whole) <= LARGEST else set(names)
    return tuple(node.name for node in graph.nodes if node.name in kept)


def _text(graph: Graph, names: tuple[str, ...]) -> str:
    """The case text of some nodes of a graph."""
    inside = set(names)
    nodes = tuple(graph.by_name[name] for name in names)
    entering = dict.fromkeys(used for node in nodes for used in node.uses if used not in inside)
    inputs = tuple(
        graph.input_by_name.get(name) or Input(name, graph.types[name]) for name in entering
    )
    text = print_case(Case(Graph(graph.name, inputs, nodes, _leaving(graph, nodes, inside))))
    for given in inputs:
        if given.name not in graph.input_by_name:
            line = print_input(given)
            text = text.replace(line, line.partition(" = ")[0], 1)
    return text


def _leaving(graph: Graph, nodes: tuple[Node, ...], inside: set[str]) -> tuple[str, ...]:
    """Values that are read outside or nowhere; no tuples and no consumed versions."""
    consumed = {node.writes for node in nodes if node.writes}
    leaving = tuple(
        node.name
        for node in nodes
        if node.name not in consumed
        and not isinstance(node.type, Tuple)
        and (
            node.name in graph.outputs
            or not graph.users[node.name]
            or any(one not in inside for one in graph.users[node.name])
        )
    )
    return leaving or tuple(node.name for node in nodes[-1:])
