"""Attributes that name shapes, fitted to inputs of another size: what a reshape asked for before
its operand shrank is asked for in proportion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from engine.errors import ConstraintViolated
from engine.ir.graph import Graph, Node
from engine.ir.types import Dense, Type
from engine.ops.typing import retype_node

__all__ = ["fitted"]

Shape = tuple[int, ...]


def fitted(graph: Graph) -> Graph:
    """The graph with every type inferred anew from its inputs, and shapes among the attributes
    replaced where they no longer fit. `ConstraintViolated` where none is found that does."""
    old, new = dict(graph.types), {given.name: given.type for given in graph.inputs}
    old |= {node.name: node.type for node in graph.nodes}
    nodes = []
    for node in graph.nodes:
        made = _first(_proposals(node, old, new), new)
        new[node.name] = made.type
        nodes.append(made)
    return graph.with_nodes(nodes)


def _first(proposals: Iterator[Node], types: Mapping[str, Type]) -> Node:
    refusal = ConstraintViolated("no shape fits")
    for node in proposals:
        try:
            return retype_node(node, types)
        except ConstraintViolated as error:
            refusal = error
    raise refusal


def _proposals(node: Node, old: Mapping[str, Type], new: Mapping[str, Type]) -> Iterator[Node]:
    """The node as it is, then with its shape in proportion, that of another value, all in one."""
    wanted = dict(node.attrs).get("shape")
    given = new.get(node.operands[0] or "") if node.operands else None
    before = _shape(node.type)
    if not isinstance(wanted, tuple) or not isinstance(given, Dense) or not given.is_static:
        yield node
        return
    whole = _shape(old.get(node.operands[0] or "", given))
    if prod(given.extents) == prod(whole):
        yield node
    found = dict.fromkeys(
        (
            *_regrouped(whole, before, given.extents),
            *(_shape(kind) for name, kind in new.items() if _shape(old[name]) == before),
            *([(given.elements,)] if len(before) == 1 else []),
        )
    )
    for shape in found:
        yield node.with_attrs(shape=shape)
    yield node


def _shape(kind: Type) -> Shape:
    return tuple(kind.extents) if isinstance(kind, Dense) and kind.is_static else ()


def _regrouped(old: Shape, wanted: Shape, new: Shape) -> Iterator[Shape]:
    """`wanted` in proportion, where a reshape from `old` joins and splits neighbouring extents: of
    a group that is joined the new product, of one that is split all in its last extent."""
    if len(old) != len(new) or prod(old) != prod(wanted):
        return
    result: list[int] = []
    left, right = 0, 0
    while left < len(old) and right < len(wanted):
        start, first = left, right
        one, two = old[left], wanted[right]
        while one != two:
            if one < two:
                left += 1
                one *= old[left]
            else:
                right += 1
                two *= wanted[right]
        group = new[start : left + 1]
        if old[start : left + 1] == wanted[first : right + 1]:
            result.extend(group)
        else:
            result.extend([1] * (right - first))
            result.append(prod(group))
        left, right = left + 1, right + 1
    rest = [1] * (len(wanted) - right)
    if prod(new[left:]) == 1:
        yield (*result, *rest)
