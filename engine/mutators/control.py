"""Control flow: a node or a chain inside a bounded loop."""

from __future__ import annotations

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Graph, Input, Node, Region
from engine.ir.types import Dense, dense
from engine.mutators.edits import Draft
from engine.mutators.sites import is_floating, nodes, values
from engine.mutators.spec import BUG_KIND, Edit, Effect, Site, mutator
from engine.mutators.tensors import FLOATING
from engine.ops.spec import OPS

__all__: list[str] = []


def _loop(
    draft: Draft,
    op: str,
    value: str,
    bodies: tuple[Region, ...],
    *,
    bound: int,
    trips: int | None = None,
) -> str:
    attrs = () if trips is None else (("trips", trips),)
    node = Node(draft.fresh(), op, (value,), draft.types[value], attrs, regions=bodies, bound=bound)
    return draft.put(node)


def _inner(draft: Draft, op: str, operands: tuple[str, ...], **attrs: object) -> Node:
    given = {name: listed[0] for name, listed in OPS[op].attrs.items()} | attrs
    return Node(draft.fresh("b"), op, operands, dense("float32"), tuple(sorted(given.items())))  # type: ignore[arg-type]


def loop_round(kind: str, trips: int) -> Edit:
    """The node becomes the body of a loop that carries its result: it runs `trips` times."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[0]]
        draft = Draft(case, rng).before(node.name)
        body, start = _as_body(draft, case.graph, node)
        count = trips if kind == "for" else None
        draft.replace_by(node.name, _loop(draft, kind, start, (body,), bound=trips, trips=count))
        return draft.finish()

    return edit


def _as_body(draft: Draft, graph: Graph, node: Node) -> tuple[Region, str]:
    """The node as a body of one carried value, and the value that it starts from."""
    slot = _own_slot(graph, node)
    start = node.operands[slot]
    assert start is not None
    carried = draft.fresh("c")
    names = {name: draft.fresh("o") for name in dict.fromkeys(node.operands) if name}
    inner = tuple(
        carried if at == slot else None if name is None else names[name]
        for at, name in enumerate(node.operands)
    )
    captures = tuple((names[name], name) for name in names if names[name] in inner)
    made = draft.fresh("b")
    nodes = (Node(made, node.op, inner, node.type, node.attrs, node.forms),)
    return Region((Input(carried, node.type),), captures, nodes, (made,)), start


def mapped(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The node over two elements, its own operand and half of it; the first takes its place."""
    node = case.graph.by_name[site.nodes[0]]
    draft = Draft(case, rng).before(node.name)
    body, start = _as_body(draft, case.graph, node)
    elements = (start, draft.scaled(start, 0.5))
    made = draft.put(Node(draft.fresh(), "map", elements, node.type, regions=(body,), bound=2))
    first, second = draft.parts(made)
    draft.add_output(second)
    draft.replace_by(node.name, first)
    return draft.finish()


def scanned(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The node on a carried value, twice; what it adds up with an element is shown."""
    node = case.graph.by_name[site.nodes[0]]
    draft = Draft(case, rng).before(node.name)
    body, start = _as_body(draft, case.graph, node)
    element = draft.fresh("e")
    shown = _inner(draft, "add", (body.results[0], element))
    body = Region(
        (*body.parameters, Input(element, node.type)),
        body.captures,
        (*body.nodes, shown),
        (body.results[0], shown.name),
    )
    operands = (start, start, draft.scaled(start, 0.5))
    made = draft.put(Node(draft.fresh(), "scan", operands, node.type, regions=(body,), bound=2))
    last, *more = draft.parts(made)
    draft.add_output(more[-1])
    draft.replace_by(node.name, last)
    return draft.finish()


def filtered(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The sum of those of the value and its half whose sum of squares is over a bound."""
    draft = Draft(case, rng).after(site.value)
    type_ = draft.dense(site.value)
    test = _condition(draft, draft.fresh("c"), type_)
    elements = (site.value, draft.scaled(site.value, 0.5))
    made = draft.put(Node(draft.fresh(), "filter", elements, type_, regions=(test,), bound=2))
    draft.redirect(site.value, made)
    return draft.finish()


def _own_slot(graph: Graph, node: Node) -> int:
    """The operand that has the type of the result."""
    for at, name in enumerate(node.operands):
        if name is not None and graph.types[name] == node.type:
            return at
    raise ConstraintViolated(f"{node.name}: no operand has the type of the result")


def _loopable(graph: Graph, node: Node) -> bool:
    plain = node.op in OPS and node.writes is None and not node.regions
    return plain and any(name and graph.types[name] == node.type for name in node.operands)


def _floating(graph: Graph, node: Node) -> bool:
    return isinstance(node.type, Dense) and is_floating(node.type) and _loopable(graph, node)


LOOPABLE = nodes(_loopable)
LOOPABLE_FLOATING = nodes(_floating)


def halving(op: str) -> Edit:
    """A data-dependent loop: halve the value while its sum of squares is over a bound."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        type_ = draft.dense(site.value)
        held, carried = draft.fresh("c"), draft.fresh("c")
        test = _condition(draft, held, type_)
        step = _inner(draft, op, (carried,), **({"value": 0.5} if op == "mul_scalar" else {}))
        body = Region((Input(carried, type_),), (), (step,), (step.name,))
        looped = _loop(draft, "while", site.value, (test, body), bound=int(rng.integers(2, 6)))
        draft.redirect(site.value, looped)
        return draft.finish()

    return edit


def _condition(draft: Draft, held: str, type_: Dense) -> Region:
    squared = _inner(draft, "square", (held,))
    total = _inner(draft, "sum", (squared.name,), dim=None, keepdim=False)
    over = _inner(draft, "gt_scalar", (total.name,), value=1.0)
    return Region((Input(held, type_),), (), (squared, total, over), (over.name,))


def never(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """A loop of no turns carries the value through."""
    draft = Draft(case, rng).after(site.value)
    type_ = draft.dense(site.value)
    carried = draft.fresh("c")
    step = _inner(draft, "neg", (carried,))
    body = Region((Input(carried, type_),), (), (step,), (step.name,))
    draft.redirect(site.value, _loop(draft, "for", site.value, (body,), bound=0, trips=0))
    return draft.finish()


if "for" in OPS and "while" in OPS:
    mutator(
        "subgraph.update.loop.round",
        effect=Effect.CHANGING,
        sites=LOOPABLE,
        edit={
            "for.two": loop_round("for", 2),
            "for.three": loop_round("for", 3),
            "while.two": loop_round("while", 2),
        },
        provenance=BUG_KIND("control flow"),
        example=("y = gelu(x)", "y = for(x; trips=2) bound 2\n  body (c) b = gelu(c) yield b"),
        doc="A node inside a loop that runs it several times on its own result.",
    )
    mutator(
        "subgraph.insertion.loop.once",
        effect=Effect.PRESERVING,
        sites=LOOPABLE,
        edit={"for": loop_round("for", 1), "while": loop_round("while", 1)},
        provenance=BUG_KIND("control flow"),
        example=("y = gelu(x)", "y = for(x; trips=1) bound 1\n  body (c) b = gelu(c) yield b"),
        doc="A node inside a loop of one turn.",
    )
    mutator(
        "subgraph.insertion.elements.map",
        effect=Effect.CHANGING,
        sites=LOOPABLE_FLOATING,
        edit=mapped,
        provenance=BUG_KIND("control flow"),
        example=(
            "y = gelu(x)",
            "h = mul_scalar(x; value=0.5)\nm = map(x, h) bound 2\n  body (c) b = gelu(c) yield b",
        ),
        doc="A node mapped over its operand and half of it; the second result is an output.",
    )
    mutator(
        "subgraph.update.elements.scan",
        effect=Effect.CHANGING,
        sites=LOOPABLE_FLOATING,
        edit=scanned,
        provenance=BUG_KIND("control flow"),
        example=(
            "y = gelu(x)",
            "s = scan(x, x, h) bound 2\n  body (c, e) b = gelu(c), a = add(b, e) yield b, a",
        ),
        doc="A node on a value that is carried over two elements; what is shown is an output.",
    )
    mutator(
        "subgraph.insertion.elements.filter",
        effect=Effect.CHANGING,
        sites=values(lambda type_: is_floating(type_) and 0 < type_.elements <= 1 << 16),
        edit=filtered,
        provenance=BUG_KIND("control flow"),
        example=(
            "y = exp(x)",
            "f = filter(x, h) bound 2\n  (condition: sum of squares over 1)\ny = exp(f)",
        ),
        doc="Which elements are added up depends on the data.",
    )
    mutator(
        "subgraph.insertion.loop.never",
        effect=Effect.PRESERVING,
        sites=FLOATING,
        edit=never,
        provenance=BUG_KIND("control flow"),
        example=(
            "y = exp(x)",
            "a = for(x; trips=0) bound 0\n  body (c) b = neg(c) yield b\ny = exp(a)",
        ),
        doc="A loop of no turns round a value.",
    )
    mutator(
        "subgraph.insertion.loop.data_dependent",
        effect=Effect.CHANGING,
        sites=values(lambda type_: is_floating(type_) and 0 < type_.elements <= 1 << 16),
        edit={"halve": halving("mul_scalar"), "tanh": halving("tanh")},
        provenance=BUG_KIND("control flow"),
        example=(
            "y = exp(x)",
            "a = while(x) bound 4\n  (condition: sum of squares over 1) (body: halve)\ny = exp(a)",
        ),
        doc="A loop whose number of turns depends on the data, within a bound.",
    )
