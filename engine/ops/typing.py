"""Types of nodes: what each operator's row says of its operands, over nodes, bodies and graphs.

Two kinds of nodes are more than a row. `item` picks one value of a tuple: it is known here alone,
and aliases its operand without saying so. Nodes with bodies (tag "control") give them values:
the parameters of a body get the types of the operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TypeVar

from engine.errors import BadInput, ConstraintViolated
from engine.ir.check import fault
from engine.ir.graph import Graph, Node, Region
from engine.ir.text import parse_nodes, print_node
from engine.ir.types import Dense, Tuple, Type
from engine.ops.spec import OPS, OpCall, OpSpec, call_of

__all__ = [
    "ITEM",
    "assume_type",
    "bind",
    "call_of_node",
    "check_types",
    "infer_node",
    "parse_body",
    "retype",
    "retype_node",
    "spec_of",
]

ITEM = "item"
"""The structural operator: `item(t; index=0)` is the first value of the tuple t."""

_Bound = TypeVar("_Bound")
_TRUTH: Type = Dense("bool", ())


def spec_of(node: Node) -> OpSpec:
    """The row of a node's operator; `BadInput` with the closest names where there is none."""
    spec = OPS.get(node.op)
    if spec is None:
        close = get_close_matches(node.op, OPS)
        expected = " or ".join(close) if close else "an operator that `flowmut ops` lists"
        raise BadInput(f"operator of {node.name}", seen=node.op, expected=expected)
    return spec


def bind(
    spec: OpSpec, operands: Sequence[_Bound | None]
) -> dict[str, _Bound | tuple[_Bound, ...] | None]:
    """What stands in each operand slot of a row: one, several for a variadic slot, or None."""
    found: dict[str, _Bound | tuple[_Bound, ...] | None] = {}
    rest = list(operands)
    spare = max(len(operands) - sum(1 for slot in spec.operands if not slot.variadic), 0)
    for slot in spec.operands:
        if slot.variadic:
            found[slot.name] = tuple(one for one in rest[:spare] if one is not None)
            rest = rest[spare:]
        else:
            found[slot.name] = rest.pop(0) if rest else None
    return found


def call_of_node(node: Node, types: Mapping[str, Type]) -> OpCall:
    """The call of a node's row, for `requires`, `when` and `forms_for`; not for `item`."""
    operands = [None if name is None else types[name] for name in node.operands]
    return call_of(spec_of(node), operands, dict(node.attrs))


def infer_node(node: Node, types: Mapping[str, Type]) -> Type:
    """The type of a node's result.

    `ConstraintViolated` where the operator refuses the call, `BadInput` where it is unknown.
    """
    return retype_node(node, types).type


def retype_node(node: Node, types: Mapping[str, Type]) -> Node:
    """The node with its type, its bodies' types, `writes` and `views` as its row says."""
    if node.op == ITEM:
        return replace(node, type=_item_type(node, types))
    spec = spec_of(node)
    result = spec.check(call_of_node(node, types))
    if node.regions:
        node = _retype_regions(node, types)
    slots = bind(spec, node.operands)
    return replace(
        node, type=result, writes=_value(slots, spec.writes), views=_value(slots, spec.views)
    )


def assume_type(node: Node, types: Mapping[str, Type]) -> Node:
    """A node that its operator refuses, under the type that its result would likeliest have.

    What inference says without the requirements, else the first dense operand's type.
    """
    first = next((types[name] for name in node.uses if isinstance(types[name], Dense)), node.type)
    if node.op == ITEM:
        return replace(node, type=first)
    spec = spec_of(node)
    slots = bind(spec, node.operands)
    try:
        result = spec.infer(call_of_node(node, types))
    except (
        ConstraintViolated,
        ArithmeticError,
        AssertionError,
        LookupError,
        TypeError,
        ValueError,
    ):
        # Inference relies on the requirements and may stumble where they do not hold.
        result = first
    return replace(
        node, type=result, writes=_value(slots, spec.writes), views=_value(slots, spec.views)
    )


def _item_type(node: Node, types: Mapping[str, Type]) -> Type:
    index = dict(node.attrs).get("index")
    if len(node.operands) != 1 or node.operands[0] is None or not isinstance(index, int):
        raise ConstraintViolated(f"item: saw {node.operands}, expected one tuple and an index")
    whole = types[node.operands[0]]
    if not isinstance(whole, Tuple) or not 0 <= index < len(whole.items):
        raise ConstraintViolated(f"item: index {index} of {whole}, expected a tuple that has it")
    return whole.items[index]


def _value(slots: Mapping[str, str | tuple[str, ...] | None], slot: str | None) -> str | None:
    found = slots[slot] if slot else None
    if isinstance(found, tuple):
        return found[0] if found else None
    return found


# ------------------------------------------------------------------------------------- bodies
def _retype_regions(node: Node, types: Mapping[str, Type]) -> Node:
    given = [types[name] for name in node.operands if name is not None]
    wanted = _signatures(node, given)
    if len(wanted) != len(node.regions):
        raise ConstraintViolated(f"{node.op}: {len(node.regions)} bodies, expected {len(wanted)}")
    regions = tuple(
        _retype_region(node, one, taken, types)
        for one, (taken, _) in zip(node.regions, wanted, strict=True)
    )
    for one, (_, yielded) in zip(regions, wanted, strict=True):
        seen = _result_types(one, types)
        if seen != yielded:
            what = "condition is" if yielded == [_TRUTH] else "body yields"
            raise ConstraintViolated(f"{node.op}: the {what} {seen}, expected {yielded}")
    return replace(node, regions=regions)


def _signatures(node: Node, given: list[Type]) -> list[tuple[list[Type], list[Type]]]:
    """What each body takes and what it yields."""
    match node.op:
        case "map":
            return [(given[:1], given[:1])]
        case "filter":
            return [(given[:1], [_TRUTH])]
        case "scan":
            return [(given[:2], given[:2])]
        case _:
            return [(given, [_TRUTH])] * (len(node.regions) - 1) + [(given, given)]


def _retype_region(
    node: Node, region: Region, carried: Sequence[Type], types: Mapping[str, Type]
) -> Region:
    if len(region.parameters) != len(carried):
        raise ConstraintViolated(
            f"{node.op}: the body has {len(region.parameters)} parameters, expected {len(carried)}"
        )
    parameters = tuple(
        replace(one, type=of) for one, of in zip(region.parameters, carried, strict=True)
    )
    known = {inner: types[outer] for inner, outer in region.captures}
    known |= {one.name: one.type for one in parameters}
    return replace(region, parameters=parameters, nodes=_retype_all(region.nodes, known))


def _retype_all(nodes: Iterable[Node], known: dict[str, Type]) -> tuple[Node, ...]:
    found = []
    for node in nodes:
        found.append(retype_node(node, known))
        known[node.name] = found[-1].type
    return tuple(found)


def _result_types(region: Region, types: Mapping[str, Type]) -> list[Type]:
    known = {inner: types[outer] for inner, outer in region.captures}
    known |= {one.name: one.type for one in region.parameters}
    known |= {one.name: one.type for one in region.nodes}
    return [known[name] for name in region.results]


# ------------------------------------------------------------------------------------- graphs
def retype(graph: Graph, dirty: Iterable[str] | None = None) -> Graph:
    """The graph with types inferred anew downstream of `dirty`, everywhere when it is None.

    `dirty` names the values (inputs or nodes) whose definition changed. Inference stops along a
    path where a type comes out as it was. Raises as `infer_node` does.
    """
    if dirty is None:
        known = {given.name: given.type for given in graph.inputs}
        return graph.with_nodes(_retype_all(graph.nodes, known))
    edited = set(dirty)
    changed = {given.name for given in graph.inputs if given.name in edited}
    types = dict(graph.types)
    nodes = []
    for node in graph.nodes:
        if node.name in edited or not changed.isdisjoint(node.uses):
            before, node = node, retype_node(node, types)
            types[node.name] = node.type
            if node.type != before.type or node.name in edited:
                changed.add(node.name)
        nodes.append(node)
    return graph.with_nodes(nodes)


def check_types(graph: Graph) -> None:
    """Raise `InvalidGraph` where a declared type or effect is not what the operator says.

    For graphs that people or files give; our own edits end in `retype`. Run `ir.check` first.
    """
    for node in graph.nodes:
        try:
            right = retype_node(node, graph.types)
        except (BadInput, ConstraintViolated) as refusal:
            raise fault(graph, node.name, f"{node.name}: {refusal}") from refusal
        if right != node:
            seen, expected = print_node(node), print_node(right)
            raise fault(graph, node.name, f"{node.name}: saw {seen}, expected {expected}")


def parse_body(text: str, types: Mapping[str, Type]) -> tuple[Node, ...]:
    """The nodes of a bare body such as `y = conv2d(x, w; stride=2)`.

    `types` are those of the values it uses from outside. Types left out are inferred, and
    attributes left out get the first value that the operator's row lists.
    """
    known = dict(types)

    def complete(node: Node) -> Node:
        if node.op != ITEM:
            given = dict(node.attrs)
            first = {name: values[0] for name, values in spec_of(node).attrs.items()}
            node = replace(node, attrs=tuple(sorted({**first, **given}.items())))
        unknown = [name for name in node.uses if name not in known]
        if unknown:
            raise BadInput(
                f"operand of {node.name}", seen=unknown[0], expected=f"one of {', '.join(known)}"
            )
        node = retype_node(node, known)
        known[node.name] = node.type
        return node

    return parse_nodes(text, complete)
