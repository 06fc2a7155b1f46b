"""The graph: operators in execution order over named values, immutable, with structural sharing.

Every value has one name. Nodes stand in execution order, which is also the order of effects: a node
that writes consumes one version of a value and yields the next, a view names its base, and no pass
may reorder reads and writes of one alias class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeGuard

from engine.ir.types import Type

__all__ = [
    "Attr",
    "Formula",
    "Graph",
    "Init",
    "Input",
    "Literal",
    "Node",
    "Random",
    "Region",
    "StoredBlob",
    "names_dtype",
]

Attr: TypeAlias = "int | float | bool | str | tuple[Attr, ...] | None"


def names_dtype(value: Attr, name: str) -> TypeGuard[str]:
    """Whether what an attribute of this name holds is a dtype."""
    return isinstance(value, str) and (name == "dtype" or name.endswith("_dtype"))


# -------------------------------------------------------------------------------- initialisers
@dataclass(frozen=True)
class Random:
    """Pseudo-random values from (kind, seed); `parameters` depend on the kind.

    normal(mean, std), uniform(low, high), integers(low, high exclusive), bernoulli(p),
    permutation().
    """

    kind: str
    seed: int
    parameters: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Formula:
    """Values computed from the shape alone: arange, full, causal_mask, rope_cos, anchors, ..."""

    name: str
    parameters: tuple[tuple[str, Attr], ...] = ()


@dataclass(frozen=True)
class Literal:
    """Values written out in the text form, flat in row-major order; at most 64."""

    values: tuple[float | int | bool | complex, ...]


@dataclass(frozen=True)
class StoredBlob:
    """Values kept beside the case, found by the digest (sha256, hexadecimal) of their bytes."""

    digest: str


Init: TypeAlias = "Random | Formula | Literal | StoredBlob"


# -------------------------------------------------------------------------------------- graph
@dataclass(frozen=True)
class Input:
    """A graph input. `role` is "input", "weight" or "constant"; only weights are trainable.

    `layout` asks for other than contiguous memory: "contiguous", "channels_last", "transposed"
    (last two axes), "strided" (every second element of the last axis of a larger buffer), "offset"
    (starts inside a larger buffer), "expanded" (stride 0 on the first axis of extent over 1).
    `alias`: inputs with the same non-empty group share one storage (same bytes, same start).
    """

    name: str
    type: Type
    role: str = "input"
    init: Init = Random("normal", 0)
    layout: str = "contiguous"
    alias: str = ""
    requires_grad: bool = False


@dataclass(frozen=True)
class Region:
    """A body graph of a control-flow node.

    `parameters` are bound by the operator (loop-carried values, the element), `captures` are
    (inner name, outer name) pairs: the explicit uses of outer values.
    """

    parameters: tuple[Input, ...]
    captures: tuple[tuple[str, str], ...]
    nodes: tuple[Node, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Node:
    """One operator call. `operands` are value names, None where an optional operand is absent.

    `forms` maps a framework to the name of the call form it is written in ("" is the plainest).
    `writes` and `views` name an *operand value*: the version that is consumed by an in-place write,
    or the base that this value is a view of. `bound` is the most iterations of its regions.
    """

    name: str
    op: str
    operands: tuple[str | None, ...]
    type: Type
    attrs: tuple[tuple[str, Attr], ...] = ()
    forms: tuple[tuple[str, str], ...] = ()
    writes: str | None = None
    views: str | None = None
    regions: tuple[Region, ...] = ()
    bound: int | None = None

    def attr(self, name: str) -> Attr:
        return dict(self.attrs)[name]

    def form(self, framework: str) -> str:
        return dict(self.forms).get(framework, "")

    def with_attrs(self, **changes: Attr) -> Node:
        return replace(self, attrs=tuple(sorted({**dict(self.attrs), **changes}.items())))

    def with_form(self, framework: str, form: str) -> Node:
        forms = {**dict(self.forms), framework: form}
        return replace(self, forms=tuple(sorted((k, v) for k, v in forms.items() if v)))

    def within(self) -> Iterator[Node]:
        """This node and every node of its regions, of theirs, and so on."""
        yield self
        for region in self.regions:
            for node in region.nodes:
                yield from node.within()

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """Every outer value this node reads, captures included."""
        captured = (outer for region in self.regions for _, outer in region.captures)
        return (*(name for name in self.operands if name is not None), *captured)


@dataclass(frozen=True)
class Graph:
    """Inputs, nodes in execution order, and the names of the outputs."""

    name: str
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def calls(self) -> tuple[Node, ...]:
        """The nodes that call an operator: all but those that take a tuple apart."""
        return tuple(node for node in self.nodes if node.op != "item")

    @cached_property
    def position(self) -> Mapping[str, int]:
        return {node.name: place for place, node in enumerate(self.nodes)}

    @cached_property
    def input_by_name(self) -> Mapping[str, Input]:
        return {given.name: given for given in self.inputs}

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """Type of every value, inputs first."""
        return {
            **{given.name: given.type for given in self.inputs},
            **{node.name: node.type for node in self.nodes},
        }

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the nodes that read each value, in order, without repeats."""
        found: dict[str, dict[str, None]] = {name: {} for name in self.types}
        for node in self.nodes:
            for used in node.uses:
                found[used][node.name] = None
        return {name: tuple(readers) for name, readers in found.items()}

    @cached_property
    def alias_roots(self) -> Mapping[str, str]:
        """Of every value the first of its alias class; an input where it begins there."""
        roots = {given.name: given.name for given in self.inputs}
        for node in self.nodes:
            before = node.writes or node.views
            if before is None and node.op == "item" and node.uses:
                # An item shares storage with what its tuple is a view of.
                whole = self.by_name.get(node.uses[0])
                before = whole.views if whole else None
            roots[node.name] = node.name if before is None else roots.get(before, before)
        return roots

    @cached_property
    def alias_classes(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the nodes of every alias class, by its root, in order."""
        found: dict[str, list[str]] = {}
        for node in self.nodes:
            found.setdefault(self.alias_roots[node.name], []).append(node.name)
        return {root: tuple(names) for root, names in found.items()}

    @cached_property
    def write_positions(self) -> Mapping[str, tuple[int, ...]]:
        """Positions of the nodes that write to each alias class, by its root."""
        found: dict[str, list[int]] = {}
        for place, node in enumerate(self.nodes):
            if node.writes:
                found.setdefault(self.alias_root(node.writes), []).append(place)
        return {root: tuple(places) for root, places in found.items()}

    def alias_root(self, name: str) -> str:
        """The first value of a value's alias class."""
        return self.alias_roots.get(name, name)

    def values(self) -> Iterator[str]:
        """Every value name, inputs first, in order of definition."""
        yield from self.types

    def with_nodes(self, nodes: Iterable[Node], outputs: tuple[str, ...] | None = None) -> Graph:
        return replace(
            self, nodes=tuple(nodes), outputs=self.outputs if outputs is None else outputs
        )

    def with_node(self, node: Node) -> Graph:
        """The graph with the node of the same name replaced."""
        return self.with_nodes(node if node.name == old.name else old for old in self.nodes)
