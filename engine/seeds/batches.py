"""A graph for another batch than that of its export, which no operator has written down.

An export with a batch that divides no other extent shows which extents grow with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from engine.errors import BadInput
from engine.ir.graph import Attr, Graph, Input, Literal, Node
from engine.ir.types import Dense, Type
from engine.ops.typing import retype, retype_node

__all__ = ["rebatched"]

_BROADCASTS = ("add", "sub", "mul", "div", "where", "masked_fill", "logical_and")


def rebatched(graph: Graph, old: int, new: int) -> Graph:
    """The graph for another batch; constants that broadcast over it lose its axis.

    Raises `BadInput` for a constant that is not the same for all of a batch, and for a value that
    is repeated for each member of a batch where nothing before it says how many there are.
    """
    broadcast = _broadcast_only(graph)
    inputs = tuple(_resized(one, old, 1 if one.name in broadcast else new) for one in graph.inputs)
    nodes = tuple(_following(graph, old))
    return retype(replace(graph, inputs=inputs, nodes=nodes))


def _broadcast_only(graph: Graph) -> frozenset[str]:
    """Constants that only broadcasting arithmetic reads."""
    return frozenset(
        one.name
        for one in graph.inputs
        if one.role != "input"
        and all(graph.by_name[user].op in _BROADCASTS for user in graph.users[one.name])
    )


# -------------------------------------------------------------------------------------- inputs
def _resized(one: Input, old: int, extent: int) -> Input:
    of = one.type
    if not isinstance(of, Dense) or one.role == "weight" or old not in of.extents:
        return one
    shape = tuple(extent if known == old else known for known in of.extents)
    init = one.init
    if isinstance(init, Literal):
        init = _shorter(one.name, init, of.extents, of.extents.index(old), extent)
    return replace(one, type=replace(of, shape=shape), init=init)


def _shorter(name: str, init: Literal, shape: tuple[int, ...], axis: int, extent: int) -> Literal:
    """The values of so many members of a batch, which must all be alike."""
    values = np.array(init.values).reshape(shape)
    if (values != values.take([0], axis)).any():
        raise BadInput(
            f"constant {name}", seen="values that differ in a batch", expected="the same for all"
        )
    return Literal(tuple(values.take([0] * extent, axis).ravel().tolist()))


# --------------------------------------------------------------------------------------- nodes
def _following(graph: Graph, old: int) -> Iterator[Node]:
    """The nodes, but what repeats a value `old` times takes the number from another value."""
    for node in graph.nodes:
        axis = _repeated_axis(node, graph.types, old)
        if axis is None:
            yield node
        else:
            yield from _sum_with_zeros(node, axis, graph, old)


def _repeated_axis(node: Node, types: Mapping[str, Type], old: int) -> int | None:
    """The axis on which a node repeats its operand once for each member of the batch."""
    key = {"expand": "shape", "tile": "dims"}.get(node.op)
    wanted: Attr = dict(node.attrs).get(key, ()) if key else ()
    assert isinstance(wanted, tuple)
    if old not in wanted:
        return None
    assert node.operands[0] is not None
    given, result = types[node.operands[0]], node.type
    assert isinstance(given, Dense)
    assert isinstance(result, Dense)
    axis = wanted.index(old)
    others = [extent for place, extent in enumerate(wanted) if place != axis]
    plain = all(extent in (1, -1) for extent in others) if node.op == "tile" else True
    same = len(given.shape) == len(result.shape) and given.extents[axis] == 1
    if not (plain and same) or not result.dtype.startswith(("float", "bfloat")):
        raise BadInput(
            f"{node.op} {node.name}",
            seen=f"{given} repeated to {result}",
            expected=f"floating values repeated {old} times on one axis of extent 1",
        )
    return axis


def _sum_with_zeros(node: Node, axis: int, graph: Graph, old: int) -> Iterator[Node]:
    """The operand plus zeros that have the extent of the batch: what the node computed."""
    anchor = _anchor(graph, node, axis, old)
    types: dict[str, Type] = dict(graph.types)
    of, wanted = types[anchor], node.type
    assert isinstance(of, Dense)
    assert isinstance(wanted, Dense)
    value = anchor
    for place, (seen, extent) in enumerate(zip(of.extents, wanted.extents, strict=True)):
        if place != axis and seen not in (1, extent):
            attrs = {"dim": place, "start": None, "stop": 1, "step": 1}
            one = _node(f"{node.name}_row{place}", "slice", (value,), attrs, types)
            yield one
            value = one.name
    zeros = _node(f"{node.name}_zeros", "zeros_like", (value,), {"dtype": None}, types)
    yield zeros
    yield _node(node.name, "add", (node.operands[0], zeros.name), {}, types)


def _anchor(graph: Graph, node: Node, axis: int, old: int) -> str:
    """The last value before the node with as many axes and the batch on the same one."""
    assert isinstance(node.type, Dense)
    before: Iterable[Node] = reversed(graph.nodes[: graph.position[node.name]])
    for name in (*(one.name for one in before), *(one.name for one in graph.inputs)):
        of = graph.types[name]
        if (
            isinstance(of, Dense)
            and of.dtype == node.type.dtype
            and len(of.shape) == len(node.type.shape)
            and of.shape[axis] == old
            and not any(other.writes == name for other in graph.nodes)
            and not _repeats(graph.by_name.get(name))
        ):
            return name
    raise BadInput(
        f"{node.op} {node.name}",
        seen=f"a batch of {old} that no value before it has on axis {axis}",
        expected="a value to take the extent of the batch from",
    )


def _repeats(node: Node | None) -> bool:
    return node is not None and node.op in ("expand", "tile")


def _node(
    name: str,
    op: str,
    operands: tuple[str | None, ...],
    attrs: Mapping[str, Attr],
    types: dict[str, Type],
) -> Node:
    """A typed node; its type is put into `types`."""
    node = Node(name, op, operands, Dense("float32", ()), tuple(sorted(attrs.items())))
    node = retype_node(node, types)
    types[name] = node.type
    return node
