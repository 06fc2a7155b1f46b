"""Digests of graphs, cases and blobs: sha256 in hexadecimal, the same in every process.

Two graphs that differ in the names of their values, or in the graph's name, have one digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, MutableMapping

import numpy as np
import numpy.typing as npt

from engine.ir.case import Case
from engine.ir.graph import Graph, Input, Node, Region, StoredBlob
from engine.ir.text import print_attr, print_input, print_type

__all__ = ["blob_digest", "case_digest", "digest", "stored_blob"]


def digest(graph: Graph) -> str:
    """Digest of the structure of a graph."""
    return _sha256(_graph(graph))


def case_digest(case: Case) -> str:
    """Digest of a case: its graph, its plan and its claim."""
    plan = case.plan
    places = {given.name: place for place, given in enumerate(case.graph.inputs)}
    groups = _groups(case.graph.inputs)
    calls = [
        [[places.get(given.name, given.name), *_input(given, groups)] for given in call.inputs]
        for call in plan.calls
    ]
    parts = [calls, plan.gradient, plan.checks, plan.loss_outputs, case.claim]
    return _sha256([_graph(case.graph), *parts])


def blob_digest(array: npt.NDArray[np.generic]) -> str:
    """Digest of the array's bytes in row-major order."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def stored_blob(
    array: npt.NDArray[np.generic], blobs: MutableMapping[str, npt.NDArray[np.generic]]
) -> StoredBlob:
    """The array put into `blobs` under its digest, and what an input refers to it by."""
    stored = StoredBlob(blob_digest(array))
    blobs[stored.digest] = array
    return stored


def _sha256(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _graph(graph: Graph) -> list[object]:
    names = {name: f"%{place}" for place, name in enumerate(graph.types)}
    groups = _groups(graph.inputs)
    return [
        [_input(given, groups) for given in graph.inputs],
        [_node(node, names) for node in graph.nodes],
        [names[name] for name in graph.outputs],
    ]


def _groups(inputs: Iterable[Input]) -> Mapping[str, int]:
    """Alias groups by order of appearance."""
    found: dict[str, int] = {}
    for given in inputs:
        if given.alias:
            found.setdefault(given.alias, len(found))
    return found


def _input(given: Input, groups: Mapping[str, int]) -> list[object]:
    nameless = Input("_", given.type, given.role, given.init, given.layout, "", given.requires_grad)
    group = groups.get(given.alias, given.alias) if given.alias else None
    return [given.role, print_input(nameless), group]


def _node(node: Node, names: Mapping[str, str]) -> list[object]:
    return [
        node.op,
        [None if name is None else names[name] for name in node.operands],
        print_type(node.type),
        sorted((name, print_attr(value)) for name, value in node.attrs),
        sorted(node.forms),
        node.writes and names[node.writes],
        node.views and names[node.views],
        [_region(region, names) for region in node.regions],
        node.bound,
    ]


def _region(region: Region, outside: Mapping[str, str]) -> list[object]:
    inner = [one.name for one in region.parameters]
    inner += [name for name, _ in region.captures]
    inner += [one.name for one in region.nodes]
    depth = len(outside)
    names = dict(outside) | {name: f"%{depth + place}" for place, name in enumerate(inner)}
    return [
        [print_type(one.type) for one in region.parameters],
        [outside[outer] for _, outer in region.captures],
        [_node(node, names) for node in region.nodes],
        [names[name] for name in region.results],
    ]
