"""The part that two windows of a model share: what a mutation changed, without the windows' cuts.

A parent and its mutant are recorded as windows, each cut round its own nodes. A node that lies in
one window and not in the other was not removed or added: it is outside. Comparing what is left
tells the mutation alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from engine.ir.graph import Graph, Input

__all__ = ["shared_window"]


def shared_window(
    parent: Graph, mutant: Graph, changed: Collection[str] = ()
) -> tuple[Graph, Graph]:
    """Both graphs without what only the cuts of their windows tell apart.

    `changed`: nodes of the mutant that the mutation touched; they stay. Where nothing would be left
    that differs, the graphs are given back as they are: the end of a graph may really be gone.
    """
    edge = _boundary(parent, mutant) | _boundary(mutant, parent)
    before = _trimmed(parent, mutant, edge, keep=())
    after = _trimmed(mutant, parent, edge, keep=changed)
    if before.nodes == after.nodes and parent.nodes != mutant.nodes:
        return parent, mutant
    return before, after


def _boundary(one: Graph, other: Graph) -> set[str]:
    """Values that one graph computes and the other is given."""
    return set(one.by_name) & set(other.input_by_name)


def _trimmed(graph: Graph, other: Graph, edge: set[str], *, keep: Collection[str]) -> Graph:
    """`graph` from the boundary on, without nodes of its own that lead to none of `other`'s."""
    inside = [node for node in graph.nodes if node.name not in edge]
    needed = {node.name for node in inside if node.name in other.by_name or node.name in keep}
    for node in reversed(inside):
        if node.name in needed:
            needed |= {name for name in node.uses if name not in edge}
    nodes = tuple(node for node in inside if node.name in needed)
    used = {name for node in nodes for name in node.uses}
    inputs = tuple(one for one in _inputs(graph, edge) if one.name in used)
    known = {node.name for node in nodes} | {one.name for one in inputs}
    outputs = tuple(name for name in graph.outputs if name in known)
    return replace(graph, inputs=inputs, nodes=nodes, outputs=outputs)


def _inputs(graph: Graph, edge: set[str]) -> Iterator[Input]:
    """The graph's own inputs, then what it computes where the other window begins."""
    for one in graph.inputs:
        yield Input(one.name, one.type) if one.name in edge else one
    for name in sorted(edge):
        node = graph.by_name.get(name)
        if node is not None:
            yield Input(name, node.type)
