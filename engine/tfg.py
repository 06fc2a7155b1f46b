"""The Tensor Flow Graph: operators and data edges, with what was seen to flow and what is demanded.

Facts come from a recording of a run. What a framework cannot tell is None, "unknown", and stays so.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import networkx as nx

from engine.errors import ConstraintViolated
from engine.ir.graph import Graph, Node
from engine.ir.text import print_type
from engine.ir.types import Dense, Type, contiguous_strides
from engine.ops.spec import OPS, call_of

__all__ = [
    "EdgeChange",
    "EdgeFacts",
    "Fact",
    "FlowGraph",
    "GraphDiff",
    "NodeChange",
    "Requirement",
    "diff",
    "layout_class",
]


class Fact(Protocol):
    """What a recording says of one value; `executors.outcome.Answer` is one."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...] | None: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def shares(self) -> tuple[str, ...] | None: ...
    @property
    def is_view(self) -> bool | None: ...
    @property
    def is_leaf(self) -> bool | None: ...
    @property
    def requires_grad(self) -> bool | None: ...
    @property
    def summary(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class EdgeFacts:
    """F(e): facts of one value. None is unknown.

    `layout`: "contiguous", "channels_last", "strided" or "overlapping". `storage`: the oldest value
    with the same storage (its own name if none is older), `offset` in elements from its start.
    `magnitude`: floor(log2(mean |x|)), between -30 and 30, None for all zeros or nothing finite.
    """

    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    layout: str | None = None
    storage: str | None = None
    offset: int | None = None
    is_view: bool | None = None
    is_leaf: bool | None = None
    requires_grad: bool | None = None
    magnitude: int | None = None
    summary: Mapping[str, float] = field(default_factory=dict)
    is_profiled: bool = False

    @cached_property
    def state(self) -> tuple[str, ...]:
        """What makes the tensor's state: dtype, rank, layout, magnitude, gradient, view."""
        rank = None if self.shape is None else len(self.shape)
        return (
            f"dtype {self.dtype}",
            f"rank {rank}",
            f"layout {self.layout}",
            f"magnitude {self.magnitude}",
            f"requires_grad {self.requires_grad}",
            f"view {self.is_view}",
        )


@dataclass(frozen=True)
class Requirement:
    """R(v): one demand of an operator on its operands, and whether declared types meet it."""

    message: str
    holds: bool


def layout_class(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> str | None:
    """The class of a layout; axes of extent 1 say nothing, so their strides are not looked at."""
    if strides is None:
        return None
    real = [(extent, step) for extent, step in zip(shape, strides, strict=True) if extent > 1]
    if not real or 0 in shape:
        return "contiguous"
    if any(step == 0 for _, step in real) or _overlaps(real):
        return "overlapping"
    wanted = zip(shape, contiguous_strides(shape), strict=True)
    if real == [pair for pair in wanted if pair[0] > 1]:
        return "contiguous"
    return "channels_last" if _is_channels_last(shape, strides) else "strided"


def _overlaps(real: list[tuple[int, int]]) -> bool:
    reach = 0
    for extent, step in sorted(real, key=lambda pair: pair[1]):
        if step <= reach:
            return True
        reach += (extent - 1) * step
    return False


def _is_channels_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if len(shape) not in (4, 5):
        return False
    order = (0, *range(2, len(shape)), 1)
    moved = tuple(shape[axis] for axis in order)
    wanted = contiguous_strides(moved)
    return all(
        strides[axis] == step for axis, step in zip(order, wanted, strict=True) if shape[axis] > 1
    )


class FlowGraph:
    """A graph with the facts of its values and the requirements of its operators."""

    def __init__(
        self,
        graph: Graph,
        facts: Mapping[str, Fact] | None = None,
        *,
        known: Mapping[str, EdgeFacts] | None = None,
    ) -> None:
        """`facts`: a recording, by value name. `known`: edge facts that are already worked out."""
        self.graph = graph
        self._facts = facts or {}
        self._known: dict[str, EdgeFacts] = dict(known or {})

    def facts(self, value: str) -> EdgeFacts:
        """Facts of a value, from the recording where there is one, else what its type says."""
        if value not in self._known:
            seen = self._facts.get(value)
            self._known[value] = (
                _from_type(self.graph, value) if seen is None else _from_fact(value, seen)
            )
        return self._known[value]

    def requirements(self, name: str) -> tuple[Requirement, ...]:
        """Requirements of a node, on the types that its operands are declared with."""
        node = self.graph.by_name[name]
        return tuple(_requirements(node, self.graph.types))

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        return self.graph.users

    def reach(self, value: str) -> frozenset[str]:
        """Names of all nodes that depend on a value."""
        return self._reach_of({value})

    def _reach_of(self, starts: Collection[str]) -> frozenset[str]:
        found = set(starts)
        for node in self.graph.nodes:
            if any(name in found for name in node.uses):
                found.add(node.name)
        return frozenset(found - set(starts))

    def update(
        self, mutant: Graph, new_facts: Mapping[str, Fact], dirty: Collection[str]
    ) -> FlowGraph:
        """The flow graph of a mutant: facts outside the cone of `dirty` are kept, not recomputed.

        `new_facts`: a recording of the mutant, in whole or of the cone alone; a value of the cone
        that it lacks falls back to its type.
        """
        cone = FlowGraph(mutant)._reach_of(set(dirty)) | set(dirty)
        kept = {
            name: facts
            for name, facts in self._known.items()
            if name in mutant.types and name not in cone
        }
        recorded = {
            name: fact
            for name, fact in self._facts.items()
            if name in mutant.types and name not in cone
        }
        return FlowGraph(mutant, {**recorded, **new_facts}, known=kept)

    def networkx(self) -> nx.MultiDiGraph[str]:
        """Nodes: inputs and operators; edges: uses, keyed by operand position, with facts."""
        view: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=self.graph.name)
        for given in self.graph.inputs:
            view.add_node(given.name, op=given.role, type=print_type(given.type))
        for node in self.graph.nodes:
            view.add_node(
                node.name,
                op=node.op,
                type=print_type(node.type),
                requirements=tuple(one.message for one in self.requirements(node.name)),
            )
        for node in self.graph.nodes:
            for slot, used in enumerate(node.uses):
                view.add_edge(used, node.name, key=slot, facts=self.facts(used))
        return view


def _from_fact(value: str, seen: Fact) -> EdgeFacts:
    summary = dict(seen.summary)
    return EdgeFacts(
        dtype=seen.dtype,
        shape=seen.shape,
        strides=seen.strides,
        layout=layout_class(seen.shape, seen.strides),
        storage=None if seen.shares is None else (*seen.shares, value)[0],
        offset=seen.offset,
        is_view=seen.is_view,
        is_leaf=seen.is_leaf,
        requires_grad=seen.requires_grad,
        magnitude=_magnitude(summary.get("mean_abs")),
        summary=summary,
        is_profiled=True,
    )


def _from_type(graph: Graph, value: str) -> EdgeFacts:
    """What the declaration alone says: strides, storage and values stay unknown."""
    type_ = graph.types[value]
    given = graph.input_by_name.get(value)
    if not isinstance(type_, Dense):
        return EdgeFacts(dtype=getattr(type_, "dtype", None))
    node = graph.by_name.get(value)
    facts = EdgeFacts(
        dtype=type_.dtype,
        shape=type_.bounds if type_.is_static else None,
        strides=type_.strides,
        is_view=None if node is None else node.views is not None,
    )
    if given is not None:
        facts = replace(facts, is_leaf=True, requires_grad=given.requires_grad, storage=value)
    return facts


def _magnitude(mean_abs: float | None) -> int | None:
    if mean_abs is None or not math.isfinite(mean_abs) or mean_abs <= 0.0:
        return None
    return max(-30, min(30, math.floor(math.log2(mean_abs))))


def _requirements(node: Node, types: Mapping[str, Type]) -> Iterator[Requirement]:
    spec = OPS.get(node.op)
    if spec is None:
        return
    given = [None if name is None else types[name] for name in node.operands]
    try:
        call = call_of(spec, given, dict(node.attrs))
        found = (
            [(holds, message) for holds, message in spec.requires(call)] if spec.requires else []
        )
    except ConstraintViolated as refusal:
        yield Requirement(str(refusal), holds=False)
        return
    for operand in spec.operands:
        yield Requirement(f"{operand.name}: {operand.kind} of {', '.join(spec.dtypes)}", holds=True)
    for holds, message in found:
        yield Requirement(message, holds=bool(holds))


# ------------------------------------------------------------------------------- difference
@dataclass(frozen=True)
class NodeChange:
    """One node of the picture. `status`: "added", "removed", "changed" or "same"."""

    id: str
    op: str
    label: str
    status: str
    form: str
    detail: str = ""

    def to_json(self) -> dict[str, object]:
        return {
            "id": self.id,
            "op": self.op,
            "label": self.label,
            "status": self.status,
            "form": self.form,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class EdgeChange:
    """One edge of the picture: `value` flows from `source` into operand `slot` of `target`.

    `before` and `after`: the value's type in the parent and in the mutant, "" where it is absent.
    """

    source: str
    target: str
    slot: int
    value: str
    status: str
    before: str
    after: str

    def to_json(self) -> dict[str, object]:
        return {
            "source": self.source,
            "target": self.target,
            "slot": self.slot,
            "value": self.value,
            "status": self.status,
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True)
class GraphDiff:
    """What a mutation did to a graph, for a picture and for counting."""

    nodes: tuple[NodeChange, ...]
    edges: tuple[EdgeChange, ...]
    outputs_before: tuple[str, ...]
    outputs_after: tuple[str, ...]

    def named(self, status: str) -> tuple[str, ...]:
        return tuple(node.id for node in self.nodes if node.status == status)

    @property
    def added(self) -> tuple[str, ...]:
        return self.named("added")

    @property
    def removed(self) -> tuple[str, ...]:
        return self.named("removed")

    @property
    def changed(self) -> tuple[str, ...]:
        return self.named("changed")

    def to_json(self) -> dict[str, object]:
        """Stable: nodes in execution order (removed ones where they stood), edges by target."""
        return {
            "nodes": [node.to_json() for node in self.nodes],
            "edges": [edge.to_json() for edge in self.edges],
            "outputs": {"before": list(self.outputs_before), "after": list(self.outputs_after)},
        }


def diff(parent: Graph, mutant: Graph) -> GraphDiff:
    """Match nodes by name, then what is left by structure (same call of the same operands)."""
    renamed = _same_structure(parent, mutant)
    nodes = [_input_change(parent, mutant, name) for name in _merged_inputs(parent, mutant)]
    for name in _merged(parent, mutant, renamed):
        nodes.append(_node_change(parent, mutant, name, renamed))
    return GraphDiff(
        tuple(nodes),
        tuple(_edge_changes(parent, mutant, renamed)),
        parent.outputs,
        mutant.outputs,
    )


def _same_structure(parent: Graph, mutant: Graph) -> Mapping[str, str]:
    """Mutant name -> parent name, of nodes that changed their name and nothing else."""
    gone = {_call(node, {}): node.name for node in parent.nodes if node.name not in mutant.by_name}
    renamed: dict[str, str] = {}
    for node in mutant.nodes:
        old = gone.get(_call(node, renamed)) if node.name not in parent.by_name else None
        if old is not None and old not in renamed.values():
            renamed[node.name] = old
    return renamed


def _call(node: Node, renamed: Mapping[str, str]) -> tuple[object, ...]:
    operands = tuple(renamed.get(name or "", name) for name in node.operands)
    return (node.op, operands, node.attrs, node.forms, node.writes, node.type)


def _merged_inputs(parent: Graph, mutant: Graph) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys((*(one.name for one in parent.inputs), *(one.name for one in mutant.inputs)))
    )


def _merged(parent: Graph, mutant: Graph, renamed: Mapping[str, str]) -> tuple[str, ...]:
    """Node names in the mutant's order, removed ones just after the neighbour they stood behind."""
    back = {old: new for new, old in renamed.items()}
    order = [node.name for node in mutant.nodes]
    last: str | None = None
    for node in parent.nodes:
        name = back.get(node.name, node.name)
        if name not in mutant.by_name:
            order.insert(0 if last is None else order.index(last) + 1, name)
        last = name
    return tuple(order)


def _input_change(parent: Graph, mutant: Graph, name: str) -> NodeChange:
    before, after = parent.input_by_name.get(name), mutant.input_by_name.get(name)
    shown = after or before
    assert shown is not None, name
    status = "added" if before is None else "removed" if after is None else "same"
    if before is not None and after is not None and before != after:
        status = "changed"
    return NodeChange(name, shown.role, f"{name}: {print_type(shown.type)}", status, "")


def _node_change(parent: Graph, mutant: Graph, name: str, renamed: Mapping[str, str]) -> NodeChange:
    after = mutant.by_name.get(name)
    before = parent.by_name.get(renamed.get(name, name))
    shown = after or before
    assert shown is not None, name
    if before is None or after is None:
        status = "added" if before is None else "removed"
    else:
        same = _call(after, renamed) == _call(before, {}) and after.regions == before.regions
        status = "same" if same else "changed"
    detail = _detail(before, after) if status == "changed" and before and after else ""
    return NodeChange(name, shown.op, f"{name} = {shown.op}", status, _form_text(shown), detail)


def _detail(before: Node, after: Node) -> str:
    """What changed in a node, in a few words."""
    words = []
    if before.op != after.op:
        words.append(f"{before.op} to {after.op}")
    old, new = dict(before.attrs), dict(after.attrs)
    words += [
        f"{name} {old.get(name)!r} to {new.get(name)!r}"
        for name in sorted({*old, *new})
        if before.op == after.op and old.get(name) != new.get(name)
    ]
    if before.forms != after.forms:
        words.append(f"form {_form_text(before) or 'plain'} to {_form_text(after) or 'plain'}")
    if before.operands != after.operands:
        words.append("other operands")
    if before.type != after.type:
        words.append(f"{print_type(before.type)} to {print_type(after.type)}")
    return ", ".join(words)


def _form_text(node: Node) -> str:
    return " ".join(f"{framework}:{form}" for framework, form in node.forms)


def _edge_changes(parent: Graph, mutant: Graph, renamed: Mapping[str, str]) -> Iterator[EdgeChange]:
    back = {old: new for new, old in renamed.items()}
    before = {
        (back.get(used, used), back.get(node.name, node.name), slot): used
        for node in parent.nodes
        for slot, used in enumerate(node.uses)
    }
    after = {
        (used, node.name, slot): used
        for node in mutant.nodes
        for slot, used in enumerate(node.uses)
    }
    for key in dict.fromkeys((*after, *before)):
        source, target, slot = key
        old = print_type(parent.types[before[key]]) if key in before else ""
        new = print_type(mutant.types[after[key]]) if key in after else ""
        status = "removed" if not new else "added" if not old else "same"
        yield EdgeChange(
            source,
            target,
            slot,
            source,
            "changed" if old and new and old != new else status,
            old,
            new,
        )
