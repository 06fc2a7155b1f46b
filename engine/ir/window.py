"""Windows: a connected part of a graph as a case of its own, fed with recorded values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from engine.ir.case import Case, Plan
from engine.ir.digest import blob_digest
from engine.ir.graph import Graph, Input, Node, StoredBlob
from engine.ir.types import Dense, Tuple, is_float

__all__ = ["alias_root", "cut", "neighbourhood"]

Array = npt.NDArray[np.generic]


def neighbourhood(
    graph: Graph, centre: Iterable[str], *, limit: int, without: Collection[str] = ()
) -> tuple[str, ...]:
    """The nodes nearest to `centre` along data edges in both directions, in execution order.

    At most `limit` of them, and none of `without`; the centre itself is always in.
    """
    inside: dict[str, None] = {name: None for name in centre if name in graph.by_name}
    frontier = list(inside)
    while frontier and len(inside) < limit:
        nearest: dict[str, None] = {}
        for name in frontier:
            around = (*graph.by_name[name].uses, *graph.users[name])
            nearest.update(dict.fromkeys(one for one in around if one in graph.by_name))
        fresh = [one for one in nearest if one not in inside and one not in without]
        frontier = fresh[: limit - len(inside)]
        inside.update(dict.fromkeys(frontier))
    return tuple(sorted(inside, key=graph.position.__getitem__))


def cut(
    case: Case,
    names: Iterable[str],
    values: Mapping[str, Array],
    *,
    outputs: tuple[str, ...] = (),
    plan: Plan | None = None,
) -> tuple[Case, dict[str, Array]]:
    """The named nodes as a case, and the blobs its inputs need.

    Edges that enter become inputs with the recorded `values`; edges that leave become outputs (or
    `outputs`, where given). The set is closed: producers of tuples come with their consumers, and
    if anything in it writes, so does everything of that alias class.
    """
    graph = case.graph
    inside = _closure(graph, set(names))
    nodes = tuple(node for node in graph.nodes if node.name in inside)
    entering = dict.fromkeys(used for node in nodes for used in node.uses if used not in inside)
    blobs: dict[str, Array] = {}
    inputs = tuple(_input(graph, name, values, blobs) for name in entering)
    kept = Graph(graph.name, inputs, nodes, outputs or _leaving(graph, nodes, inside))
    return replace(case, graph=kept, plan=plan or case.plan), blobs


def _input(graph: Graph, name: str, values: Mapping[str, Array], blobs: dict[str, Array]) -> Input:
    if name in graph.input_by_name:
        return graph.input_by_name[name]
    array = np.ascontiguousarray(values[name])
    digest = blob_digest(array)
    blobs[digest] = array
    declared = graph.types[name]
    assert isinstance(declared, Dense), f"{name} has type {declared} and cannot enter a window"
    given = Dense(declared.dtype, array.shape)
    return Input(name, given, "input", StoredBlob(digest), requires_grad=is_float(given.dtype))


def _closure(graph: Graph, inside: set[str]) -> set[str]:
    """Close under tuples and, where something writes, under alias classes."""
    while True:
        wanted = set(inside)
        for name in inside:
            for used in graph.by_name[name].uses:
                if isinstance(graph.types[used], Tuple):
                    wanted.add(used)
        written = (graph.by_name[one].writes for one in inside)
        for root in {alias_root(graph, one) for one in written if one is not None}:
            wanted |= {node.name for node in graph.nodes if alias_root(graph, node.name) == root}
        wanted = {name for name in wanted if name in graph.by_name}
        if wanted == inside:
            return inside
        inside = wanted


def alias_root(graph: Graph, name: str) -> str:
    """The first value of a value's alias class; an input where it begins there."""
    while name in graph.by_name:
        node = graph.by_name[name]
        before = node.writes or node.views
        if before is None:
            break
        name = before
    return name


def _leaving(graph: Graph, nodes: tuple[Node, ...], inside: set[str]) -> tuple[str, ...]:
    """Values that are used outside or not at all, without tuples and consumed versions."""
    consumed = {node.writes for node in nodes if node.writes}
    leaving = []
    for node in nodes:
        users = graph.users[node.name]
        read_outside = node.name in graph.outputs or any(one not in inside for one in users)
        if node.name in consumed or isinstance(node.type, Tuple):
            continue
        if read_outside or not users:
            leaving.append(node.name)
    return tuple(leaving) or (nodes[-1].name,)
