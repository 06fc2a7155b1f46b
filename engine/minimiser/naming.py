"""Short names for a minimised case: x, y, z for its inputs, a, b, c for what it computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from engine.ir.case import Call, Case
from engine.ir.graph import Input, Node

__all__ = ["renamed"]

_INPUTS = ("x", "y", "z", "w")
_RESULTS = ("a", "b", "c", "d", "e")


def renamed(case: Case) -> Case:
    """The same case with short names; regions keep the names inside them."""
    graph = case.graph
    names = dict(zip((one.name for one in graph.inputs), _stems(_INPUTS, "x"), strict=False))
    names |= dict(zip((one.name for one in graph.nodes), _stems(_RESULTS, "a"), strict=False))
    calls = tuple(
        Call(tuple(_input(one, names) for one in call.inputs)) for call in case.plan.calls
    )
    return replace(
        case,
        graph=replace(
            graph,
            inputs=tuple(_input(one, names) for one in graph.inputs),
            nodes=tuple(_node(one, names) for one in graph.nodes),
            outputs=tuple(names[one] for one in graph.outputs),
        ),
        plan=replace(case.plan, calls=calls),
    )


def _stems(plain: tuple[str, ...], stem: str) -> Iterator[str]:
    yield from plain
    for number in count(1):
        yield f"{stem}{number}"


def _input(given: Input, names: Mapping[str, str]) -> Input:
    return replace(given, name=names[given.name])


def _node(node: Node, names: Mapping[str, str]) -> Node:
    regions = tuple(
        replace(one, captures=tuple((inner, names[outer]) for inner, outer in one.captures))
        for one in node.regions
    )
    return replace(
        node,
        name=names[node.name],
        operands=tuple(names[one] if one else None for one in node.operands),
        writes=names[node.writes] if node.writes else None,
        views=names[node.views] if node.views else None,
        regions=regions,
    )
