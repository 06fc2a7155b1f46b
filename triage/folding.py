"""Which nodes of a picture are drawn, and which lie in a fold that a person may open.

A fold is a run of nodes in execution order, so that folds never make a cycle; where names carry a
scope (`layers_3_self_attn_v5` lies in `layers_3`), a run ends with its scope.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.tfg import GraphDiff, NodeChange

__all__ = [
    "GIVEN",
    "HOPS",
    "WHOLE",
    "Fold",
    "Folding",
    "execution_order",
    "fold",
    "near",
    "scope_of",
]

# Hops that a page offers; None shows everything.
HOPS: tuple[int | None, ...] = (1, 2, 4, None)
# A graph of at most so many nodes in which nothing changed is shown whole.
WHOLE = 150
# An input that so many folds read is drawn beside them.
_MANY_READERS = 4
GIVEN = frozenset({"input", "weight", "constant"})
_NUMBERED = re.compile(r"_?v?\d+$")


@dataclass(frozen=True)
class Fold:
    """Unchanged nodes in execution order. `id` is the first one's name, `scope` "" where none."""

    id: str
    scope: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Folding:
    """`shown`: nodes that are drawn one by one. `closed` and `opened`: folds."""

    shown: frozenset[str]
    closed: tuple[Fold, ...]
    opened: tuple[Fold, ...]

    @cached_property
    def place(self) -> Mapping[str, Fold]:
        """The closed fold of every node that lies in one."""
        return {name: one for one in self.closed for name in one.members}

    @property
    def folded(self) -> int:
        """How many nodes are not drawn."""
        return sum(len(one.members) for one in self.closed)


def fold(
    change: GraphDiff,
    *,
    hops: int | None,
    opened: Collection[str] = (),
    keep: Collection[str] = (),
) -> Folding:
    """Fold what is further than `hops` edges from a change.

    `opened`: ids of folds that are drawn in full; ids that are no fold say nothing. `keep`: nodes
    that must be seen: the folds they lie in are opened.
    """
    close = near(change, hops=hops)
    if not close and len(change.nodes) <= WHOLE:
        close = {node.id for node in change.nodes}
    runs = list(_runs(change, close))
    shared = _shared(change, runs)
    if shared:
        runs = [one for one in _without(runs, shared) if one.members]
    wanted, kept = set(opened), set(keep)
    folds = [one for one in runs if len(one.members) > 1]
    opened_folds = [one for one in folds if one.id in wanted or kept.intersection(one.members)]
    closed = [one for one in folds if one not in opened_folds]
    hidden = {name for one in closed for name in one.members}
    shown = frozenset(node.id for node in change.nodes if node.id not in hidden)
    return Folding(shown, tuple(closed), tuple(opened_folds))


def near(change: GraphDiff, *, hops: int | None) -> set[str]:
    """Nodes within `hops` edges of something that changed; none where nothing did."""
    if hops is None:
        return {node.id for node in change.nodes}
    starts = {node.id for node in change.nodes if node.status != "same"}
    for edge in change.edges:
        if edge.status != "same":
            starts |= {edge.source, edge.target}
    beside: dict[str, set[str]] = defaultdict(set)
    for edge in change.edges:
        beside[edge.source].add(edge.target)
        beside[edge.target].add(edge.source)
    distance = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        one = queue.popleft()
        if distance[one] == hops:
            continue
        for other in beside[one] - distance.keys():
            distance[other] = distance[one] + 1
            queue.append(other)
    return set(distance)


def execution_order(change: GraphDiff) -> tuple[NodeChange, ...]:
    """Nodes as they run; what is given stands just before its first user."""
    place = {node.id: index for index, node in enumerate(change.nodes)}
    first: dict[str, int] = {}
    for edge in change.edges:
        first[edge.source] = min(first.get(edge.source, len(place)), place[edge.target])

    def key(node: NodeChange) -> tuple[int, int]:
        return (first.get(node.id, 0), 0) if node.op in GIVEN else (place[node.id], 1)

    return tuple(sorted(change.nodes, key=key))


def scope_of(name: str) -> str:
    """The part of a name up to its last number, besides the number of the value itself.

    "layers_3" of layers_3_self_attn_v5, "stages_0_layers_1" of stages_0_layers_1_grn_weight, "" of
    v12 and of embed_tokens_v0.
    """
    words = _NUMBERED.sub("", name).split("_")
    numbers = [index for index, word in enumerate(words) if word.isdigit()]
    return "_".join(words[: numbers[-1] + 1]) if numbers else ""


def _shared(change: GraphDiff, runs: Collection[Fold]) -> set[str]:
    """What is given to many folds, as a table of positions: it belongs to none of them."""
    place = {name: one.id for one in runs for name in one.members}
    given = {node.id for node in change.nodes if node.op in GIVEN}
    readers: dict[str, set[str]] = defaultdict(set)
    for edge in change.edges:
        if edge.source in given and edge.source in place and edge.target in place:
            readers[edge.source].add(place[edge.target])
    return {name for name, folds in readers.items() if len(folds) >= _MANY_READERS}


def _without(runs: Collection[Fold], names: Collection[str]) -> Iterator[Fold]:
    for one in runs:
        members = tuple(name for name in one.members if name not in names)
        yield Fold(members[0] if members else "", one.scope, members)


def _runs(change: GraphDiff, close: Collection[str]) -> Iterator[Fold]:
    """Maximal runs of nodes that are not near, each within one scope."""
    members: list[str] = []
    inside = ""
    for node in execution_order(change):
        if node.id in close:
            # What is given depends on nothing, so it does not end a run.
            if members and node.op not in GIVEN:
                yield Fold(members[0], inside, tuple(members))
                members = []
            continue
        scope = scope_of(node.id)
        # Values without a scope of their own stay in the one they stand in.
        if members and scope and inside and scope != inside:
            yield Fold(members[0], inside, tuple(members))
            members, inside = [], ""
        if not members:
            inside = scope
        inside = inside or scope
        members.append(node.id)
    if members:
        yield Fold(members[0], inside, tuple(members))
