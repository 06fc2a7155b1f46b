"""Windows: a connected part of a graph as a case of its own, fed with recorded values."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from engine.errors import ConstraintViolated
from engine.ir.case import Case, Plan
from engine.ir.digest import stored_blob
from engine.ir.graph import Graph, Input, Node
from engine.ir.types import Dense, Tuple, is_float

__all__ = ["closure", "cut", "neighbourhood", "reached", "writers_of"]

Array = npt.NDArray[np.generic]


def neighbourhood(
    graph: Graph,
    centre: Iterable[str],
    *,
    limit: int,
    fits: Callable[[str], bool] = lambda name: True,
) -> tuple[str, ...]:
    """The nodes nearest to `centre` along data edges in both directions, in execution order.

    At most `limit` of them, and only those that fit; the centre itself is always in.
    """
    inside: dict[str, None] = {name: None for name in centre if name in graph.by_name}
    frontier = list(inside)
    while frontier and len(inside) < limit:
        nearest: dict[str, None] = {}
        for name in frontier:
            around = (*graph.by_name[name].uses, *graph.users[name])
            nearest.update(dict.fromkeys(one for one in around if one in graph.by_name))
        fresh = [one for one in nearest if one not in inside]
        frontier = list(itertools.islice(filter(fits, fresh), limit - len(inside)))
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
    `outputs`, where given). The set is closed, see `closure`. `ConstraintViolated` where no node is
    named, or where a value that would enter was not recorded.
    """
    graph = case.graph
    inside = closure(graph, names)
    if not inside:
        raise ConstraintViolated("a window without operators")
    nodes = tuple(node for node in graph.nodes if node.name in inside)
    entering = dict.fromkeys(used for node in nodes for used in node.uses if used not in inside)
    blobs: dict[str, Array] = {}
    inputs = tuple(_input(graph, name, values, blobs) for name in entering)
    kept = Graph(graph.name, inputs, nodes, outputs or _leaving(graph, nodes, inside))
    return replace(case, graph=kept, plan=plan or case.plan), blobs


def _input(graph: Graph, name: str, values: Mapping[str, Array], blobs: dict[str, Array]) -> Input:
    if name in graph.input_by_name:
        return graph.input_by_name[name]
    if name not in values:
        raise ConstraintViolated(f"{name} would enter a window, but its value was not recorded")
    # Keeps arrays without axes as they are, which `ascontiguousarray` does not.
    array = np.asarray(values[name], order="C")
    declared = graph.types[name]
    assert isinstance(declared, Dense), f"{name} has type {declared} and cannot enter a window"
    given = Dense(declared.dtype, array.shape)
    stored = stored_blob(array, blobs)
    return Input(name, given, "input", stored, requires_grad=is_float(given.dtype))


def closure(graph: Graph, names: Iterable[str]) -> set[str]:
    """The least set of nodes that holds the named ones and can be fed with recorded values.

    Values that are no dense tensors come with their producers, tuples with all their items. A node
    that writes comes with all of its alias class, and so does a node that reads a value after
    another of its class was written to: what was recorded of it is out of date.
    """
    return set(reached(graph, names))


def reached(
    graph: Graph, names: Iterable[str], dirty: Collection[str] = frozenset()
) -> Iterator[str]:
    """The names of such a set one by one, the named ones first. What is `dirty` has no recorded
    value: nodes come with those of their operands that are, inputs of the graph too."""
    inside: set[str] = set()
    pending = [name for name in names if name in graph.by_name]
    while pending:
        name = pending.pop()
        if name in inside:
            continue
        inside.add(name)
        yield name
        node = graph.by_name.get(name)
        if node is None:
            continue
        wanted = [one for one in node.uses if not isinstance(graph.types[one], Dense)]
        if isinstance(node.type, Tuple):
            wanted += graph.users[name]
        storage = [node.writes] if node.writes else []
        storage += [one for one in node.uses if _is_stale(graph, one, node)]
        for root in {graph.alias_root(one) for one in storage}:
            wanted += graph.alias_classes[root]
        pending += [one for one in wanted if one in graph.by_name]
        pending += [one for one in node.uses if one in dirty]


def _is_stale(graph: Graph, name: str, reader: Node) -> bool:
    """Whether a value's storage is written to between its computation and the reader."""
    written = graph.write_positions.get(graph.alias_root(name), ())
    after = bisect_right(written, graph.position.get(name, -1))
    return after < len(written) and written[after] < graph.position[reader.name]


def writers_of(graph: Graph, name: str) -> tuple[Node, ...]:
    """The nodes that write to the storage of a value, in order."""
    return tuple(
        graph.nodes[place] for place in graph.write_positions.get(graph.alias_root(name), ())
    )


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
