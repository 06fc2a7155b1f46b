"""Blocks of several nodes: attention written out becomes one call, a line goes into a loop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Graph, Input, Node, Region
from engine.ir.types import dense
from engine.mutators.edits import Draft, renamed_uses
from engine.mutators.sites import Pattern, dense_of, is_floating, live_nodes
from engine.mutators.spec import ALGEBRA, BUG_KIND, Edit, Effect, Site, mutator
from engine.ops.spec import OPS

__all__: list[str] = []

_PRODUCTS = ("matmul", "bmm")
LONGEST = 4


# ------------------------------------------------------------------------------ attention
@dataclass(frozen=True)
class _Attention:
    """softmax(q kT * factor + mask) v, written out. `nodes` in order, the last is the product."""

    nodes: tuple[str, ...]
    query: str
    keys: str
    values: str
    mask: str | None
    factor: float


def _attention(graph: Graph, last: Node) -> _Attention | None:
    """The attention that ends in a product, None where it does not."""
    soft = _alone(graph, last.operands[0], ("softmax",)) if last.op in _PRODUCTS else None
    if soft is None or last.operands[1] is None or not _is_last_axis(graph, soft):
        return None
    line, name, mask, factor = [soft, last], soft.operands[0], None, 1.0
    added = _alone(graph, name, ("add",))
    if added is not None:
        line.insert(0, added)
        name, mask = added.operands[:2]
    scaled = _alone(graph, name, ("mul_scalar", "div_scalar"))
    if scaled is not None:
        value = float(str(scaled.attr("value")))
        if not math.isfinite(value) or value == 0.0:
            return None
        factor = value if scaled.op == "mul_scalar" else 1.0 / value
        line.insert(0, scaled)
        name = scaled.operands[0]
    product = _alone(graph, name, _PRODUCTS)
    if product is None or product.operands[0] is None or product.operands[1] is None:
        return None
    nodes = tuple(node.name for node in (product, *line))
    query, keys = product.operands[0], product.operands[1]
    found = _Attention(nodes, query, keys, last.operands[1], mask, factor)
    return found if _fits(graph, found) else None


def _alone(graph: Graph, name: str | None, ops: tuple[str, ...]) -> Node | None:
    """The node of that name if it has one of these operators and a single reader."""
    node = graph.by_name.get(name or "")
    if node is None or node.op not in ops or len(graph.users[node.name]) != 1:
        return None
    return None if node.name in graph.outputs else node


def _is_last_axis(graph: Graph, soft: Node) -> bool:
    type_ = dense_of(graph, soft.name)
    return type_ is not None and soft.attr("dim") in (-1, type_.rank - 1)


def _fits(graph: Graph, found: _Attention) -> bool:
    """Operands of one dtype, of the same leading axes, and one mask for all of them."""
    types = [dense_of(graph, name) for name in (found.query, found.keys, found.values)]
    if any(one is None or one.rank < 2 or not is_floating(one) for one in types):
        return False
    known = [one for one in types if one is not None]
    same = len({(one.dtype, one.extents[:-2]) for one in known}) == 1
    if found.mask is None:
        return same
    mask, scores = dense_of(graph, found.mask), dense_of(graph, found.nodes[0])
    return (
        same
        and mask is not None
        and scores is not None
        and mask.dtype == known[0].dtype
        and mask.extents[-2:] == scores.extents[-2:]
        and math.prod(mask.extents[:-2]) == 1
    )


def attend(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The product as one call of scaled dot-product attention."""
    last = case.graph.by_name[site.value]
    found = _attention(case.graph, last)
    if found is None:
        raise ConstraintViolated(f"{last.name}: no attention ends here")
    draft = Draft(case, rng).before(last.name)
    features = draft.shape(found.query)[-1]
    # The call scales by 1/sqrt(features) itself.
    query = draft.scaled(found.query, found.factor * math.sqrt(features))
    keys = draft.emit("transpose", found.keys, dim0=-2, dim1=-1)
    mask = found.mask and draft.reshape(found.mask, draft.shape(found.mask)[-2:])
    made = draft.emit("scaled_dot_product_attention", query, keys, found.values, mask)
    draft.replace_by(last.name, made)
    return draft.finish()


def _attention_sites(graph: Graph, last: Node) -> Iterator[Site]:
    found = _attention(graph, last)
    if found is not None:
        yield Site(found.nodes, last.name)


mutator(
    "subgraph.update.fusion.attention",
    effect=Effect.PRESERVING,
    sites=Pattern(lambda graph: live_nodes(graph, *_PRODUCTS), _attention_sites),
    edit=attend,
    provenance=ALGEBRA("definition of scaled_dot_product_attention"),
    example=(
        "s = matmul(q, k)\nt = mul_scalar(s; value=0.5)\nw = softmax(t; dim=-1)\ny = matmul(w, v)",
        "y = scaled_dot_product_attention(q, transpose(k), v)",
    ),
    doc="Attention that is written out, with its scale and bias, as one call.",
)


# ------------------------------------------------------------------------------ loops
def _block(graph: Graph, last: Node) -> tuple[Node, ...]:
    """The longest line of two nodes or more that ends here, begins with the type it ends with, and
    is read from outside at its end alone; each node reads the one before."""
    line: list[Node] = []
    best: tuple[Node, ...] = ()
    node: Node | None = last
    while node is not None and _is_plain(node) and len(line) < LONGEST:
        line.insert(0, node)
        carried = node.operands[0]
        if carried is None:
            break
        if len(line) > 1 and graph.types[carried] == last.type:
            best = tuple(line)
        before = graph.by_name.get(carried)
        inside = before is not None and graph.users[carried] == (node.name,)
        node = before if inside and carried not in graph.outputs else None
    return best


def _is_plain(node: Node) -> bool:
    spec = OPS.get(node.op)
    return (
        spec is not None
        and node.writes is None
        and not node.regions
        and spec.tags.isdisjoint({"random", "dynamic", "sparse", "control"})
    )


def _block_sites(graph: Graph, last: Node) -> Iterator[Site]:
    found = _block(graph, last)
    if found:
        yield Site(tuple(node.name for node in found), last.name)


def block_in_a_loop(kind: str, trips: int) -> Edit:
    """The line becomes the body of a loop that carries its first operand."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        graph = case.graph
        line = [graph.by_name[name] for name in site.nodes]
        first, last = line[0], line[-1]
        start = first.operands[0]
        assert start is not None
        draft = Draft(case, rng).before(last.name)
        body = _body(draft, line, start)
        attrs = () if kind == "while" else (("trips", trips),)
        looped = draft.put(
            Node(draft.fresh(), kind, (start,), last.type, attrs, regions=(body,), bound=trips)
        )
        draft.replace_by(last.name, looped)
        return draft.finish()

    return edit


def _body(draft: Draft, line: list[Node], start: str) -> Region:
    """The nodes under names of their own; what they read from outside is captured."""
    carried = draft.fresh("c")
    inner = {start: carried}
    captures: dict[str, str] = {}
    nodes = []
    for node in line:
        for used in node.uses:
            if used not in inner:
                captures[used] = inner[used] = draft.fresh("o")
        made = Node(draft.fresh("b"), node.op, node.operands, dense("float32"), node.attrs)
        for used in dict.fromkeys(node.uses):
            made = renamed_uses(made, used, inner[used])
        inner[node.name] = made.name
        nodes.append(made)
    pairs = tuple((inside, outside) for outside, inside in captures.items())
    return Region((Input(carried, draft.types[start]),), pairs, tuple(nodes), (nodes[-1].name,))


_BLOCKS = Pattern(live_nodes, _block_sites)
mutator(
    "subgraph.insertion.loop.block",
    effect=Effect.PRESERVING,
    sites=_BLOCKS,
    edit={kind: block_in_a_loop(kind, 1) for kind in ("for", "while")},
    provenance=BUG_KIND("control flow"),
    example=(
        "a = linear(x, w)\ny = gelu(a)",
        "y = for(x; trips=1) bound 1\n  body (c) b = linear(c, w), d = gelu(b) yield d",
    ),
    doc="Several nodes in a row inside a loop of one turn.",
)
mutator(
    "subgraph.update.loop.block",
    effect=Effect.CHANGING,
    sites=_BLOCKS,
    edit={
        "for.two": block_in_a_loop("for", 2),
        "for.three": block_in_a_loop("for", 3),
        "while.two": block_in_a_loop("while", 2),
    },
    provenance=BUG_KIND("control flow"),
    example=(
        "a = linear(x, w)\ny = gelu(a)",
        "y = for(x; trips=2) bound 2\n  body (c) b = linear(c, w), d = gelu(b) yield d",
    ),
    doc="Several nodes in a row inside a loop that runs them several times on their own result.",
)
