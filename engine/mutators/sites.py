"""Where mutators act: patterns over values, uses, nodes and small subgraphs.

A pattern is worked out once for a graph and kept with it, since many rows share one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar, cast

from engine.ir.case import Case
from engine.ir.graph import Graph, Input, Node
from engine.ir.types import Dense, is_float, is_integer
from engine.mutators.edits import forms_of
from engine.mutators.spec import Site, Sites
from engine.ops.spec import OPS, OpSpec

__all__ = [
    "chains",
    "dense_of",
    "form_sites",
    "inputs",
    "is_floating",
    "is_live",
    "nodes",
    "once",
    "same_type_pairs",
    "spec_at",
    "tagged",
    "uses",
    "values",
]

_Made = TypeVar("_Made")
ValueTest: TypeAlias = "Callable[[Dense], bool]"
NodeTest: TypeAlias = "Callable[[Graph, Node], bool]"


def kept(graph: Graph, key: object, make: Callable[[], _Made]) -> _Made:
    """What `make` gives for this graph, worked out once; graphs are immutable."""
    memory = cast("dict[object, _Made]", graph.__dict__.setdefault("_patterns", {}))
    if key not in memory:
        memory[key] = make()
    return memory[key]


def _sites(find: Callable[[Case], Iterator[Site]]) -> Sites:
    """Sites that are kept with the graph; the pattern must not depend on the plan."""
    key = object()

    def sites(case: Case) -> Iterator[Site]:
        yield from kept(case.graph, key, lambda: tuple(find(case)))

    return sites


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

    def find(case: Case) -> Iterator[Site]:
        for name, type_, role in kept(case.graph, "values", lambda: tuple(_values(case.graph))):
            if (role in roles if role else computed) and test(type_):
                yield Site(value=name) if role else _site_at(case.graph, name)

    return _sites(find)


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

    def find(case: Case) -> Iterator[Site]:
        graph = case.graph
        for node in _nodes_of(graph, None):
            if not where(graph, node):
                continue
            for slot, name in enumerate(node.operands):
                type_ = None if name is None else dense_of(graph, name)
                if name is not None and type_ is not None and test(type_):
                    yield Site(nodes=(node.name,), value=name, consumer=node.name, slot=slot)

    return _sites(find)


def inputs(where: Callable[[Input], bool]) -> Sites:
    """Graph inputs that something reads."""

    def find(case: Case) -> Iterator[Site]:
        for given in case.graph.inputs:
            if where(given) and is_live(case.graph, given.name):
                yield Site(value=given.name)

    return _sites(find)


# ---------------------------------------------------------------------------- nodes
def nodes(
    where: NodeTest = lambda graph, node: True, *, ops: Collection[str] | None = None
) -> Sites:
    """Live nodes, of these operators where they are given; `value` is the node's result."""

    def find(case: Case) -> Iterator[Site]:
        for node in _nodes_of(case.graph, ops):
            if where(case.graph, node):
                yield _site_at(case.graph, node.name)

    return _sites(find)


def _site_at(graph: Graph, name: str) -> Site:
    """The site of a node's result, one object for all rows."""
    made = kept(graph, "sites", dict[str, Site])
    if name not in made:
        made[name] = Site(nodes=(name,), value=name)
    return made[name]


def _nodes_of(graph: Graph, ops: Collection[str] | None) -> Iterable[Node]:
    """Live nodes in order, looked up by operator."""
    by_op = kept(graph, "by_op", lambda: _by_op(graph))
    if ops is None:
        return (node for node in graph.nodes if is_live(graph, node.name))
    found = [node for op in by_op.keys() & ops for node in by_op[op]]
    return sorted(found, key=lambda node: graph.position[node.name])


def _by_op(graph: Graph) -> Mapping[str, tuple[Node, ...]]:
    found: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if is_live(graph, node.name):
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

    def find(case: Case) -> Iterator[Site]:
        graph = case.graph
        for last in _nodes_of(graph, {ops[-1]}):
            line = _line(graph, last, ops)
            if line:
                yield Site(nodes=line, value=last.name)

    return _sites(find)


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

    def find(case: Case) -> Iterator[Site]:
        graph = case.graph
        older: dict[object, list[str]] = {}
        for given in graph.inputs:
            if given.role == "input" and is_live(graph, given.name):
                older.setdefault(given.type, []).append(given.name)
        for node in graph.nodes:
            if is_live(graph, node.name) and node.writes is None:
                yield from _others(graph, node, older, near)
            older.setdefault(node.type, []).append(node.name)

    return _sites(find)


def _others(
    graph: Graph, node: Node, older: Mapping[object, list[str]], near: int
) -> Iterator[Site]:
    for slot, name in enumerate(node.operands):
        if name is None or name not in graph.by_name:
            continue
        for other in older.get(graph.types[name], [])[-near:]:
            if other != name and other not in _stale(graph):
                yield Site((node.name,), name, node.name, slot, (("other", other),))


def once(test: Callable[[Case], bool] = lambda case: True) -> Sites:
    """The case as a whole, where the test holds: changes of the plan."""

    def sites(case: Case) -> Iterator[Site]:
        if test(case):
            yield Site()

    return sites


# ---------------------------------------------------------------------------- forms
def form_sites(framework: str, kind: str) -> Sites:
    """Nodes whose call may be written in another form of this kind ("method", "keyword", ...)."""

    def find(case: Case) -> Iterator[Site]:
        for name, form in _forms(case.graph).get((framework, kind), ()):
            yield Site((name,), name, detail=(("form", form),))

    return _sites(find)


def form_kind(form: str) -> str:
    """The kind of a form name: "method" of "method_dim"."""
    return form.partition("_")[0]


def _forms(graph: Graph) -> Mapping[tuple[str, str], list[tuple[str, str]]]:
    """(framework, kind) -> (node, form) for every form that holds and is not the one in use."""
    return kept(graph, "forms", lambda: _all_forms(graph))


def _all_forms(graph: Graph) -> Mapping[tuple[str, str], list[tuple[str, str]]]:
    held = graph.input_by_name.keys()
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for node in _nodes_of(graph, None):
        for framework, names in forms_of(node, graph.types, held).items():
            current = node.form(framework)
            current = current if current in names else (names[0] if names else "")
            for name in names:
                if name != current:
                    found.setdefault((framework, form_kind(name)), []).append((node.name, name))
    return found
