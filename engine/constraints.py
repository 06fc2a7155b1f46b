"""Legality of a mutant: types in the dirty cone, requirements of operators, effects, and size.

Three kinds, which an ablation can switch off one by one:

* *input*: an operator that the mutation put in place or fed anew, fed by values from outside the
  replacement;
* *internal*: an operator of the replacement, fed by a value of the replacement;
* *output*: an operator outside the replacement that is fed by it, directly or through others, or a
  graph output that would no longer be defined.

Two more are never switched off: *budget* keeps mutants small enough to run, *structure* keeps an
overwritten version from being read again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Attr, Graph, Node
from engine.ir.types import Csr, Dense, Scalar, Tuple, Type, is_float
from engine.ops.spec import OPS, OpSpec
from engine.ops.typing import bind, call_of_node, retype_node
from engine.tfg import Fact

__all__ = [
    "BUDGET",
    "KINDS",
    "Budget",
    "Violation",
    "domain_violations",
    "effect_violations",
    "plain_reason",
    "replacement",
    "settle",
    "violations",
]

KINDS = ("input", "internal", "output")
OVERLAPPING = frozenset({"expanded", "overlapping"})
"""Tags of views whose elements may share memory with one another."""


@dataclass(frozen=True)
class Budget:
    """How large a mutant may grow: nodes over those of its seed, elements of one value."""

    extra_nodes: int = 40
    elements: int = 1 << 22


BUDGET = Budget()
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Violation:
    """One broken constraint. `kind`: one of `KINDS`, "budget" or "structure"."""

    kind: str
    node: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind} constraint at {self.node}: {self.message}"


def plain_reason(refusal: ConstraintViolated, graph: Graph) -> str:
    """The reason with "*" for names of values, so that equal reasons are counted together."""
    kind = str(refusal).partition(" constraint at ")
    text = kind[2].partition(": ")[2] if kind[1] else str(refusal)
    plain = _NAME.sub(lambda found: "*" if found[0] in graph.types else found[0], text)
    return f"{kind[0]}: {plain}"[:120] if kind[1] else plain[:120]


# ------------------------------------------------------------------------------- types
def settle(
    graph: Graph, changed: Collection[str], parent: Graph
) -> tuple[Graph, tuple[Violation, ...]]:
    """Give every node of the dirty cone its inferred type.

    A node whose operator refuses its operands keeps the type it had and yields a violation, so that
    an ablation can still run the mutant. `changed`: nodes that were added or edited.
    """
    types: dict[str, Type] = {given.name: given.type for given in graph.inputs}
    before = parent.types
    touched = _Touched.of(graph, changed, parent)
    dirty = {name for name, type_ in types.items() if before.get(name) != type_}
    found: list[Violation] = []
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.name in changed or any(name in dirty for name in node.uses):
            node = _inferred(node, types, touched, found)
        if before.get(node.name) != node.type or node.name in changed:
            dirty.add(node.name)
        types[node.name] = node.type
        nodes.append(node)
    return graph.with_nodes(nodes), tuple(found)


def _inferred(
    node: Node, types: Mapping[str, Type], touched: _Touched, found: list[Violation]
) -> Node:
    try:
        made = retype_node(node, types)
    except ConstraintViolated as refusal:
        found.append(Violation(touched.kind(node), node.name, str(refusal)))
        return node
    return node if made == node else made


def replacement(graph: Graph, changed: Collection[str], parent: Graph) -> frozenset[str]:
    """Nodes that the mutation put in place of others: new ones, and calls that it edited.

    A node that only reads another value than before is a user outside the replacement.
    """

    def is_inside(name: str) -> bool:
        node, old = graph.by_name.get(name), parent.by_name.get(name)
        if node is None or old is None:
            return True
        return (node.op, repr(node.attrs), node.forms) != (old.op, repr(old.attrs), old.forms)

    return frozenset(name for name in changed if is_inside(name))


@dataclass(frozen=True)
class _Touched:
    """Nodes that a mutation changed, and those of them that are in the replacement."""

    changed: frozenset[str]
    inside: frozenset[str]

    @classmethod
    def of(cls, graph: Graph, changed: Collection[str], parent: Graph | None) -> _Touched:
        names = frozenset(changed)
        return cls(names, names if parent is None else replacement(graph, changed, parent))

    def kind(self, node: Node) -> str:
        """The kind of a constraint that a node breaks."""
        if node.name not in self.changed:
            return "output"
        made = not self.inside.isdisjoint(node.uses)
        if node.name in self.inside:
            return "internal" if made else "input"
        return "output" if made else "input"


# ------------------------------------------------------------------------------- effects
def effect_violations(
    case: Case,
    changed: Collection[str],
    *,
    parent: Graph | None = None,
    aliasing: bool = False,
) -> Iterator[Violation]:
    """In-place writes: what may be written, and who may still look.

    `parent`: where it is given, users that only read another value are told from the replacement.
    `aliasing`: the mutation means other names of the same storage to see the write.
    """
    graph = case.graph
    touched = _Touched.of(graph, changed, parent)
    classes = alias_classes(graph)
    for place, node in enumerate(graph.nodes):
        if node.writes is None:
            continue
        storage = classes[node.writes]
        found = "" if node.name not in changed else _unwritable(case, node, storage)
        if found:
            yield Violation(touched.kind(node), node.name, found)
        late = _late_reader(graph, place, classes, aliasing=aliasing)
        if late is not None and (node.name in changed or late[0] in changed):
            user, name = late
            yield Violation(
                "structure" if name == node.writes else touched.kind(node),
                node.name,
                f"writes into {node.writes}, whose storage {user} reads later as {name}",
            )


def _late_reader(
    graph: Graph, place: int, classes: Mapping[str, str], *, aliasing: bool
) -> tuple[str, str] | None:
    """The first user, and the name, by which old bytes are read after the write at a place."""
    node = graph.nodes[place]
    assert node.writes is not None
    older = {
        name
        for name, storage in classes.items()
        if storage == classes[node.writes] and graph.position.get(name, -1) < place
    }
    if aliasing:
        older &= {node.writes}
    for user in graph.nodes[place + 1 :]:
        for name in user.uses:
            if name in older:
                return user.name, name
    return next((("the graph", name) for name in graph.outputs if name in older), None)


def _unwritable(case: Case, node: Node, storage: str) -> str:
    """Why a value may not be written, "" where it may."""
    graph = case.graph
    root = graph.input_by_name.get(storage)
    if root is not None and root.requires_grad and case.plan.gradient != "none":
        return f"writes into {storage}, a leaf that needs a gradient"
    name: str | None = node.writes
    while name is not None:
        maker = graph.by_name.get(name)
        if maker is None:
            spread = graph.input_by_name[name].layout == "expanded"
        else:
            spec = OPS.get(maker.op)
            spread = spec is not None and not spec.tags.isdisjoint(OVERLAPPING)
        if spread:
            return f"writes into {node.writes}, whose elements overlap"
        name = None if maker is None else maker.writes or maker.views
    return ""


def alias_classes(graph: Graph) -> Mapping[str, str]:
    """The storage of every value, named by its oldest value, as far as the graph says."""
    groups: dict[str, str] = {}
    classes: dict[str, str] = {}
    for given in graph.inputs:
        classes[given.name] = (
            groups.setdefault(given.alias, given.name) if given.alias else given.name
        )
    for node in graph.nodes:
        base = node.writes or node.views
        classes[node.name] = classes[base] if base is not None else node.name
    return classes


# ------------------------------------------------------------------------------- domains
def domain_violations(
    graph: Graph,
    facts: Mapping[str, Fact],
    changed: Collection[str],
    *,
    parent: Graph | None = None,
) -> Iterator[Violation]:
    """Touched functions of one tensor whose operand was recorded where they are not defined.

    That is outside the interval that the row gives, where its reference is not finite. A node that
    its parent calls with the same operand is left alone, and of a new operand nothing is said.
    """
    touched = _Touched.of(graph, changed, parent)
    for name in changed:
        node = graph.by_name.get(name)
        spec = None if node is None else OPS.get(node.op)
        if node is None or spec is None or "elementwise" not in spec.tags:
            continue
        old = None if parent is None else parent.by_name.get(name)
        known = old is not None and (old.op, old.operands) == (node.op, node.operands)
        if known or len(node.operands) != 1 or node.operands[0] is None:
            continue
        type_ = graph.types[node.operands[0]]
        if not (isinstance(type_, Dense) and is_float(type_.dtype) and type_.dtype in spec.dtypes):
            continue
        bounds = _bounds(node.operands[0], graph, facts)
        if bounds is not None and _is_undefined(spec, dict(node.attrs), bounds):
            yield Violation(
                touched.kind(node),
                name,
                f"{node.op} has no finite value on all of [{bounds[0]:g}, {bounds[1]:g}],"
                f" where {node.operands[0]} was",
            )


def _is_undefined(spec: OpSpec, attrs: Mapping[str, Attr], bounds: tuple[float, float]) -> bool:
    """Whether a function has no finite value at an end of what was seen, or at nought between."""
    low, high = bounds
    probes = np.array([low, high, *([0.0] if low < 0.0 < high else [])])
    if spec.domain[0] <= low and high <= spec.domain[1]:
        return False
    with np.errstate(all="ignore"):
        return not np.isfinite(np.asarray(spec.reference(probes, **attrs), dtype=float)).all()


def _bounds(value: str, graph: Graph, facts: Mapping[str, Fact]) -> tuple[float, float] | None:
    fact = facts.get(value)
    if fact is None or "min" not in fact.summary or "max" not in fact.summary:
        return None
    return float(fact.summary["min"]), float(fact.summary["max"])


# ------------------------------------------------------------------------------- all together
def violations(
    parent: Case,
    mutant: Case,
    changed: Collection[str],
    *,
    facts: Mapping[str, Fact] | None = None,
    refused: Iterable[Violation] | None = None,
    off: Collection[str] = (),
    aliasing: bool = False,
    nasty: bool = False,
    seed_nodes: int | None = None,
    budget: Budget = BUDGET,
) -> Iterator[Violation]:
    """Every constraint that the mutant breaks, except those of the kinds in `off`.

    `aliasing` and `nasty` say that the mutation means what would otherwise be refused: other names
    of a written storage, values outside the domain of an operator. `refused`: what `settle` found,
    if the caller has settled the mutant. `seed_nodes`: nodes of the seed of the chain (the
    parent's by default).
    """
    if refused is None:
        _, refused = settle(mutant.graph, changed, parent.graph)
    found: list[Iterable[Violation]] = [
        refused,
        effect_violations(mutant, changed, parent=parent.graph, aliasing=aliasing),
        _output_violations(parent, mutant),
        _call_violations(mutant),
        _gradient_violations(mutant, _Touched.of(mutant.graph, changed, parent.graph)),
    ]
    if not nasty and facts:
        found.append(domain_violations(mutant.graph, facts, changed, parent=parent.graph))
    for group in found:
        yield from (one for one in group if one.kind not in off)
    yield from _over_budget(parent, mutant, changed, seed_nodes, budget)


def _output_violations(parent: Case, mutant: Case) -> Iterator[Violation]:
    types = mutant.graph.types
    if len(mutant.graph.outputs) < len(parent.graph.outputs):
        yield Violation("output", "", "the mutant has fewer outputs than its parent")
    for name in mutant.graph.outputs:
        if isinstance(types[name], Tuple):
            yield Violation("output", name, "a graph output must be one value, not several")
    if mutant.plan.gradient != "none" and not _losses(mutant):
        yield Violation(
            "output", "", "a gradient is asked for, and no output of the loss is floating"
        )


def _call_violations(mutant: Case) -> Iterator[Violation]:
    """Operators that refuse what a later call of the plan feeds them, in new types."""
    graph = mutant.graph
    for number, call in enumerate(mutant.plan.calls):
        inputs = mutant.inputs_of(call)
        if all(given.type == graph.types[given.name] for given in inputs):
            continue
        _, refused = settle(replace(graph, inputs=inputs), (), graph)
        for one in refused:
            yield Violation("output", one.node, f"call {number}: {one.message}")


def _gradient_violations(mutant: Case, touched: _Touched) -> Iterator[Violation]:
    """Operands to which no gradient flows, fed with what asks for one."""
    if mutant.plan.gradient == "none":
        return
    asking = {given.name for given in mutant.graph.inputs if given.requires_grad}
    for node in mutant.graph.nodes:
        spec = OPS.get(node.op)
        if spec is None or (spec.differentiable and not asking.isdisjoint(node.uses)):
            asking.add(node.name)
        if spec is None:
            continue
        for reason in _forms_without_gradient(mutant.graph, node, spec, asking):
            yield Violation(touched.kind(node), node.name, f"{node.op}: {reason}")
        given = bind(spec, node.operands) if spec.fixed else {}
        for slot in spec.fixed:
            if given[slot] in asking:
                yield Violation(
                    touched.kind(node),
                    node.name,
                    f"{node.op}: no gradient flows to {slot}, and {given[slot]} asks for one",
                )


def _forms_without_gradient(
    graph: Graph, node: Node, spec: OpSpec, asking: set[str]
) -> Iterator[str]:
    """Why the form that the node is written in may not be asked for a gradient."""
    if asking.isdisjoint(node.uses):
        return
    for framework, table in spec.forms.items():
        if not any(one.no_gradient or one.restrides for one in table.values()):
            continue
        found = spec.form_for(framework, node, call_of_node(node, graph.types))
        if found is None:
            continue
        name, form = found
        if form.no_gradient:
            yield f"{name} has no gradient: {form.no_gradient}"
        root = alias_classes(graph)[node.operands[0] or ""] if form.restrides else ""
        if root in graph.input_by_name and root in asking:
            yield f"{name} changes a view of {root}, a leaf that needs a gradient"


def _losses(case: Case) -> list[str]:
    outputs = case.graph.outputs
    chosen = case.plan.loss_outputs or tuple(range(len(outputs)))
    types = case.graph.types
    return [outputs[at] for at in chosen if at < len(outputs) and _is_floating(types[outputs[at]])]


def _is_floating(type_: Type) -> bool:
    return isinstance(type_, Dense | Csr) and is_float(type_.dtype)


def _over_budget(
    parent: Case,
    mutant: Case,
    changed: Collection[str],
    seed_nodes: int | None,
    budget: Budget,
) -> Iterator[Violation]:
    allowed = (len(parent.graph.nodes) if seed_nodes is None else seed_nodes) + budget.extra_nodes
    if len(mutant.graph.nodes) > max(allowed, len(parent.graph.nodes)):
        yield Violation(
            "budget", "", f"{len(mutant.graph.nodes)} nodes, at most {allowed} are allowed"
        )
    before = parent.graph.types
    for name, type_ in mutant.graph.types.items():
        if before.get(name) == type_ or isinstance(type_, Scalar | Tuple):
            continue
        elements = type_.elements if isinstance(type_, Dense) else type_.nnz
        if elements > budget.elements:
            yield Violation(
                "budget", name, f"{elements} elements, at most {budget.elements} are allowed"
            )
