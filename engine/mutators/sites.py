"""Where mutators act: patterns over values, uses, nodes and small subgraphs.

A pattern is worked out once for a graph and kept with it, since many rows share one.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, cast

import numpy as np

from engine.ir.case import Case
from engine.ir.graph import Graph, Input, Node
from engine.ir.types import Dense, Type, is_float, is_integer
from engine.mutators.edits import forms_of
from engine.mutators.spec import Site, Sites
from engine.ops.spec import OPS, OpSpec

__all__ = [
    "Pattern",
    "chains",
    "dense_of",
    "form_sites",
    "inputs",
    "is_floating",
    "is_live",
    "live_nodes",
    "nodes",
    "once",
    "same_type_pairs",
    "spec_at",
    "tagged",
    "uses",
    "values",
]

_Made = TypeVar("_Made")
_Place = TypeVar("_Place")
ValueTest: TypeAlias = "Callable[[Dense], bool]"
NodeTest: TypeAlias = "Callable[[Graph, Node], bool]"


def kept(graph: Graph, key: object, make: Callable[[], _Made]) -> _Made:
    """What `make` gives for this graph, worked out once; graphs are immutable."""
    memory = cast("dict[object, _Made]", graph.__dict__.setdefault("_patterns", {}))
    if key not in memory:
        memory[key] = make()
    return memory[key]


@dataclass(frozen=True, eq=False)
class Pattern(Generic[_Place]):
    """Sites that are found place by place; the pattern must not depend on the plan.

    `places`: of a graph, in order. `at`: the sites at a place.
    """

    places: Callable[[Graph], Sequence[_Place]]
    at: Callable[[Graph, _Place], Iterator[Site]]

    def __call__(self, case: Case) -> Iterator[Site]:
        """Every site, in order; worked out once for a graph."""
        yield from kept(case.graph, self, lambda: tuple(self._found(case.graph)))

    def _found(self, graph: Graph) -> Iterator[Site]:
        for place in self.places(graph):
            yield from self.at(graph, place)

    def drawn(
        self,
        case: Case,
        rng: np.random.Generator,
        most: int,
        *,
        near: Collection[str] | None = None,
    ) -> tuple[Site, ...]:
        """At most so many sites, those of places in random order: a large graph is not searched.

        `near`: values among which the place must be.
        """
        places = self.places(case.graph)
        if near is not None:
            places = [one for one in places if _name_of(one) in near]
        found: list[Site] = []
        for place in rng.permutation(len(places)).tolist():
            found += self.at(case.graph, places[place])
            if len(found) >= most:
                break
        return tuple(found[:most])


def _name_of(place: object) -> str:
    """The value that a place is about: a node, an input, or a tuple that begins with its name."""
    if isinstance(place, Node | Input):
        return place.name
    assert isinstance(place, tuple), place
    return str(place[0])


# ---------------------------------------------------------------------------- reading
def is_floating(type_: Dense) -> bool:
    return is_float(type_.dtype)


def is_integral(type_: Dense) -> bool:
    return is_integer(type_.dtype)


def dense_of(graph: Graph, value: str) -> Dense | None:
    """The type of a dense value of known shape, else None."""
    found = graph.types[value]
    return found if isinstance(found, Dense) and found.is_static else None


def spec_at(node: Node) -> OpSpec | None:
    return OPS.get(node.op)


def is_live(graph: Graph, value: str) -> bool:
    """Whether an output depends on the value."""
    return value in kept(graph, "live", lambda: _live(graph))


def _live(graph: Graph) -> frozenset[str]:
    wanted = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node.name in wanted or node.writes is not None:
            wanted.update(node.uses)
            wanted.add(node.name)
    return frozenset(wanted)


def _stale(graph: Graph) -> frozenset[str]:
    """Versions that an in-place write consumed: they may not be read after it."""
    return kept(
        graph,
        "stale",
        lambda: frozenset(node.writes for node in graph.nodes if node.writes is not None),
    )


# ---------------------------------------------------------------------------- values
def everywhere(graph: Graph, node: Node) -> bool:
    return True


def values(
    test: ValueTest = is_floating, *, roles: tuple[str, ...] = ("input",), computed: bool = True
) -> Sites:
    """Live dense values: graph inputs of these roles, and what nodes compute."""

    def at(graph: Graph, place: tuple[str, Dense, str]) -> Iterator[Site]:
        name, type_, role = place
        if (role in roles if role else computed) and test(type_):
            yield Site(value=name) if role else _site_at(graph, name)

    return Pattern(lambda graph: kept(graph, "values", lambda: tuple(_values(graph))), at)


def _values(graph: Graph) -> Iterator[tuple[str, Dense, str]]:
    """Name, type and role ("" for what a node computes) of every live dense value."""
    roles = {given.name: given.role for given in graph.inputs}
    stale = _stale(graph)
    for name in graph.types:
        type_ = dense_of(graph, name)
        if type_ is not None and name not in stale and is_live(graph, name):
            yield name, type_, roles.get(name, "")


def uses(test: ValueTest = is_floating, where: NodeTest = everywhere) -> Sites:
    """Single uses: one value at one operand slot of one live consumer."""

    def at(graph: Graph, node: Node) -> Iterator[Site]:
        if not where(graph, node):
            return
        for slot, name in enumerate(node.operands):
            type_ = None if name is None else dense_of(graph, name)
            if name is not None and type_ is not None and test(type_):
                yield Site(nodes=(node.name,), value=name, consumer=node.name, slot=slot)

    return Pattern(lambda graph: _nodes_of(graph, None), at)


def inputs(where: Callable[[Input], bool]) -> Sites:
    """Graph inputs that something reads."""

    def at(graph: Graph, given: Input) -> Iterator[Site]:
        if where(given) and is_live(graph, given.name):
            yield Site(value=given.name)

    return Pattern(lambda graph: graph.inputs, at)


# ---------------------------------------------------------------------------- nodes
def nodes(
    where: NodeTest = lambda graph, node: True, *, ops: Collection[str] | None = None
) -> Sites:
    """Live nodes, of these operators where they are given; `value` is the node's result."""

    wanted = None if ops is None else frozenset(ops)

    def at(graph: Graph, node: Node) -> Iterator[Site]:
        if where(graph, node):
            yield _site_at(graph, node.name)

    return Pattern(lambda graph: _nodes_of(graph, wanted), at)


def _site_at(graph: Graph, name: str) -> Site:
    """The site of a node's result, one object for all rows."""
    made = kept(graph, "sites", dict[str, Site])
    if name not in made:
        made[name] = Site(nodes=(name,), value=name)
    return made[name]


def _nodes_of(graph: Graph, ops: frozenset[str] | None) -> Sequence[Node]:
    """Live nodes in order, looked up by operator."""
    if ops is None:
        return kept(graph, "live nodes", lambda: _live_nodes(graph))
    by_op = kept(graph, "by_op", lambda: _by_op(graph))
    return kept(graph, ops, lambda: _listed(graph, by_op, ops)) if by_op.keys() & ops else ()


def live_nodes(graph: Graph, *ops: str) -> Sequence[Node]:
    """Live nodes in order, of these operators where some are named."""
    return _nodes_of(graph, frozenset(ops) if ops else None)


def _live_nodes(graph: Graph) -> tuple[Node, ...]:
    return tuple(node for node in graph.nodes if is_live(graph, node.name))


def _listed(
    graph: Graph, by_op: Mapping[str, tuple[Node, ...]], ops: Collection[str]
) -> tuple[Node, ...]:
    found = [node for op in by_op.keys() & ops for node in by_op[op]]
    return tuple(sorted(found, key=lambda node: graph.position[node.name]))


def _by_op(graph: Graph) -> Mapping[str, tuple[Node, ...]]:
    found: dict[str, list[Node]] = {}
    for node in _nodes_of(graph, None):
        found.setdefault(node.op, []).append(node)
    return {op: tuple(several) for op, several in found.items()}


def tagged(*tags: str) -> NodeTest:
    """Nodes whose operator has one of the tags."""

    def test(graph: Graph, node: Node) -> bool:
        spec = spec_at(node)
        return spec is not None and not spec.tags.isdisjoint(tags)

    return test


def chains(*ops: str) -> Sites:
    """Straight lines of nodes with these operators, each read by the next alone."""

    ends = frozenset({ops[-1]})

    def at(graph: Graph, last: Node) -> Iterator[Site]:
        line = _line(graph, last, ops)
        if line:
            yield Site(nodes=line, value=last.name)

    return Pattern(lambda graph: _nodes_of(graph, ends), at)


def _line(graph: Graph, last: Node, ops: tuple[str, ...]) -> tuple[str, ...]:
    found = [last] if last.op == ops[-1] else []
    for op in reversed(ops[:-1]):
        if not found:
            return ()
        before = graph.by_name.get(found[0].operands[0] or "")
        alone = before is not None and graph.users[before.name] == (found[0].name,)
        if before is None or before.op != op or not alone or before.name in graph.outputs:
            return ()
        found.insert(0, before)
    return tuple(node.name for node in found)


def same_type_pairs(*, near: int = 4) -> Sites:
    """A use and another value of the same type that is made before it, not far away.

    `detail` names the other value.
    """

    def at(graph: Graph, node: Node) -> Iterator[Site]:
        if node.writes is not None:
            return
        older = kept(graph, "by type", lambda: _by_type(graph))
        for slot, name in enumerate(node.operands):
            if name is None or name not in graph.by_name:
                continue
            places, names = older[graph.types[name]]
            end = bisect.bisect_left(places, graph.position[node.name])
            for other in names[max(end - near, 0) : end]:
                if other != name and other not in _stale(graph):
                    yield Site((node.name,), name, node.name, slot, (("other", other),))

    return Pattern(lambda graph: _nodes_of(graph, None), at)


def _by_type(graph: Graph) -> Mapping[Type, tuple[list[int], list[str]]]:
    """Type -> places and names of live inputs, before all nodes, and of nodes, in order."""
    found: dict[Type, tuple[list[int], list[str]]] = {}
    for given in graph.inputs:
        if given.role == "input" and is_live(graph, given.name):
            _note(found, given.type, -1, given.name)
    for place, node in enumerate(graph.nodes):
        _note(found, node.type, place, node.name)
    return found


def _note(
    found: dict[Type, tuple[list[int], list[str]]], type_: Type, place: int, name: str
) -> None:
    places, names = found.setdefault(type_, ([], []))
    places.append(place)
    names.append(name)


def once(test: Callable[[Case], bool] = lambda case: True) -> Sites:
    """The case as a whole, where the test holds: changes of the plan."""

    def sites(case: Case) -> Iterator[Site]:
        if test(case):
            yield Site()

    return sites


# ---------------------------------------------------------------------------- forms
def form_sites(framework: str, kind: str) -> Sites:
    """Nodes whose call may be written in another form of this kind ("method", "keyword", ...)."""

    able = frozenset(
        spec.name
        for spec in OPS.values()
        if any(form_kind(name) == kind for name in spec.forms.get(framework, {}))
    )

    def at(graph: Graph, node: Node) -> Iterator[Site]:
        names = forms_of(node, graph.types, graph.input_by_name.keys()).get(framework, ())
        current = node.form(framework)
        current = current if current in names else (names[0] if names else "")
        for name in names:
            if name != current and form_kind(name) == kind:
                yield Site((node.name,), node.name, detail=(("form", name),))

    return Pattern(lambda graph: _nodes_of(graph, able), at)


def form_kind(form: str) -> str:
    """The kind of a form name: "method" of "method_dim"."""
    return form.partition("_")[0]
