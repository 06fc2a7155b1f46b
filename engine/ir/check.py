"""Structural check of graphs and cases: what must hold whatever the operators are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from engine.errors import InvalidGraph
from engine.ir.case import CHECKS, GRADIENTS, Case, Plan
from engine.ir.graph import Graph, Input, Literal, Node, Region
from engine.ir.text import CLAIMS, RESERVED, ROLES, print_graph, print_node, print_type
from engine.ir.types import COMPLEX, DTYPES, INTEGERS, Csr, Dense, Scalar, Tuple, Type
from engine.ir.types import is_float as is_floating

__all__ = ["LAYOUTS", "check", "fault"]

LAYOUTS = ("contiguous", "channels_last", "transposed", "strided", "offset", "expanded")
MOST_LITERAL_VALUES = 64

# Kept with a node or an input once it is known to be well formed in itself: both are immutable, and
# a mutant shares all but a few with its parent.
_SOUND = "_sound"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check(of: Case | Graph) -> None:
    """Raise `InvalidGraph`, whose message shows the lines round the fault, unless all is well."""
    graph = of.graph if isinstance(of, Case) else of
    _require_name(graph, graph.name, "", "the graph")
    _check_inputs(graph)
    _check_nodes(graph)
    _check_outputs(graph)
    if isinstance(of, Case):
        if of.claim and of.claim not in CLAIMS:
            raise InvalidGraph(f"claim {of.claim}: expected {' or '.join(CLAIMS)}")
        _check_plan(graph, of.plan)


def fault(graph: Graph, name: str, message: str) -> InvalidGraph:
    """The error to raise: the message and the lines of the text form round the value `name`."""
    lines = print_graph(graph).splitlines()
    at = _line_of(graph, name)
    shown = range(max(at - 2, 0), min(at + 3, len(lines)))
    text = "\n".join(f"{'>' if here == at else ' '} {here + 1:4} | {lines[here]}" for here in shown)
    return InvalidGraph(f"{message}\n{text}")


def _line_of(graph: Graph, name: str) -> int:
    """Place of the line that defines the value, the first line where none does."""
    for at, given in enumerate(graph.inputs, 1):
        if given.name == name:
            return at
    at = 1 + len(graph.inputs)
    for node in graph.nodes:
        lines = print_node(node).splitlines()
        for within, line in enumerate(lines):
            if line.strip().startswith(f"{name}: "):
                return at + within
        at += len(lines)
    return at if name == "return" else 0


def _require_name(graph: Graph, name: str, at: str, what: str) -> None:
    if not _NAME.match(name) or name in RESERVED:
        raise fault(graph, at, f"{what} is called {name!r}, which is not a name")


# ------------------------------------------------------------------------------------- inputs
def _check_inputs(graph: Graph) -> None:
    seen: set[str] = set()
    groups: dict[str, Input] = {}
    for given in graph.inputs:
        if given.name in seen:
            raise fault(graph, given.name, f"{given.name} is defined twice")
        seen.add(given.name)
        if _SOUND not in given.__dict__:
            for message in _input_faults(given):
                raise fault(graph, given.name, f"{given.name}: {message}")
            given.__dict__[_SOUND] = True
        if given.alias:
            first = groups.setdefault(given.alias, given)
            if not _may_alias(first.type, given.type):
                raise fault(
                    graph,
                    given.name,
                    f"{given.name} aliases {first.name}, whose dtype or size is another",
                )


def _input_faults(given: Input) -> Iterator[str]:
    if not _NAME.match(given.name) or given.name in RESERVED:
        yield f"{given.name!r} is not a name"
    if given.role not in ROLES:
        yield f"role {given.role}, expected {' or '.join(ROLES)}"
    if given.layout not in LAYOUTS:
        yield f"layout {given.layout}, expected {' or '.join(LAYOUTS)}"
    yield from _type_faults(given.type)
    if isinstance(given.type, Tuple):
        yield "an input is a tuple, expected a tensor or a scalar"
    if isinstance(given.type, Dense):
        yield from _dense_input_faults(given, given.type)


def _dense_input_faults(given: Input, of: Dense) -> Iterator[str]:
    if not of.is_static:
        yield "an input has a dynamic extent"
    if given.requires_grad and not is_floating(of.dtype) and of.dtype not in COMPLEX:
        yield f"requires a gradient, but is {of.dtype}"
    if isinstance(given.init, Literal):
        values = given.init.values
        if len(values) > MOST_LITERAL_VALUES:
            yield f"{len(values)} values written out, expected at most {MOST_LITERAL_VALUES}"
        if of.is_static and len(values) != of.elements:
            yield f"{len(values)} values written out, expected {of.elements}"
        if of.dtype not in COMPLEX and any(isinstance(one, complex) for one in values):
            yield f"complex values in {of.dtype}"
        if of.dtype in INTEGERS and any(_is_not_whole(one) for one in values):
            yield f"values that are not whole numbers in {of.dtype}"


def _is_not_whole(value: complex) -> bool:
    return isinstance(value, float) and not (math.isfinite(value) and value.is_integer())


def _may_alias(one: Type, other: Type) -> bool:
    return (
        isinstance(one, Dense)
        and isinstance(other, Dense)
        and one.dtype == other.dtype
        and one.elements == other.elements
    )


def _type_faults(of: Type) -> Iterator[str]:
    match of:
        case Dense(dtype, shape, strides):
            if dtype not in DTYPES:
                yield f"dtype {dtype}, expected one of {', '.join(DTYPES)}"
            if any(extent < 0 for extent in of.bounds):
                yield f"{print_type(of)} has a negative extent"
            if strides is not None and len(strides) != len(shape):
                yield f"{print_type(of)} has {len(strides)} strides, expected {len(shape)}"
        case Csr(dtype, shape, nnz, index_dtype):
            if dtype not in DTYPES or index_dtype not in ("int32", "int64"):
                yield f"{print_type(of)}, expected a known dtype and int32 or int64 indices"
            if min(*shape, nnz) < 0 or nnz > shape[0] * shape[1]:
                yield f"{print_type(of)} stores more values than it has, or fewer than none"
        case Scalar(kind):
            if kind not in ("int", "float", "bool"):
                yield f"scalar {kind}, expected int, float or bool"
        case Tuple(items):
            for item in items:
                yield from _type_faults(item)


# -------------------------------------------------------------------------------------- nodes
def _check_nodes(graph: Graph) -> None:
    defined = {given.name for given in graph.inputs}
    consumed: dict[str, str] = {}
    for node in graph.nodes:
        if node.name in defined:
            raise fault(graph, node.name, f"{node.name} is defined twice")
        _check_uses(graph, node, defined, consumed)
        if _SOUND not in node.__dict__:
            for message in _node_faults(node):
                raise fault(graph, node.name, f"{node.name}: {message}")
            node.__dict__[_SOUND] = True
        for region in node.regions:
            _check_region(graph, node, region, defined)
        if node.writes is not None:
            consumed[node.writes] = node.name
        defined.add(node.name)


def _check_uses(graph: Graph, node: Node, defined: set[str], consumed: Mapping[str, str]) -> None:
    for used in node.uses:
        if used in consumed:
            raise fault(
                graph,
                node.name,
                f"{node.name} uses {used}, which {consumed[used]} has overwritten:"
                f" expected the version {consumed[used]}",
            )
        if used in defined:
            continue
        if used == node.name:
            raise fault(graph, node.name, f"cycle: {node.name} uses itself")
        if used not in graph.by_name:
            raise fault(graph, node.name, f"{node.name} uses {used}, which is not defined")
        if _depends(graph, graph.by_name[used], node.name):
            raise fault(graph, node.name, f"cycle: {node.name} and {used} use each other")
        raise fault(graph, node.name, f"{node.name} uses {used} before it is defined")


def _depends(graph: Graph, node: Node, on: str) -> bool:
    pending, seen = [node], set[str]()
    while pending:
        one = pending.pop()
        for used in one.uses:
            if used == on:
                return True
            if used in graph.by_name and used not in seen:
                seen.add(used)
                pending.append(graph.by_name[used])
    return False


def _node_faults(node: Node) -> Iterator[str]:
    if not _NAME.match(node.name) or node.name in RESERVED:
        yield f"{node.name!r} is not a name"
    if not _NAME.match(node.op):
        yield f"operator {node.op!r} is not a name"
    yield from _type_faults(node.type)
    names = [name for name, _ in node.attrs]
    if len(set(names)) < len(names) or not all(map(_NAME.match, names)):
        yield f"attributes {names}, expected different names"
    for word, value in (("writes", node.writes), ("views", node.views)):
        if value is not None and value not in node.operands:
            yield f"{word} {value}, which is not one of its operands"
    if node.regions and (node.bound is None or node.bound < 0):
        yield f"a body with bound {node.bound}, expected the most iterations"
    if node.bound is not None and not node.regions:
        yield f"bound {node.bound}, but no body"


def _check_region(graph: Graph, node: Node, region: Region, outside: set[str]) -> None:
    """A body sees its parameters, its captures and its own nodes, nothing else."""
    defined: set[str] = set()
    for inner, outer in region.captures:
        if outer not in outside:
            raise fault(graph, node.name, f"{node.name} captures {outer}, which is not defined")
        _define(graph, node, defined, outside, inner)
    for parameter in region.parameters:
        if parameter != Input(parameter.name, parameter.type):
            raise fault(graph, node.name, f"{parameter.name}: a parameter has a type alone")
        for message in _type_faults(parameter.type):
            raise fault(graph, node.name, f"{parameter.name}: {message}")
        _define(graph, node, defined, outside, parameter.name)
    for one in region.nodes:
        for used in one.uses:
            if used not in defined:
                raise fault(
                    graph, one.name, f"{one.name} uses {used}, which its body does not define"
                )
        for message in _node_faults(one):
            raise fault(graph, one.name, f"{one.name}: {message}")
        for inside in one.regions:
            _check_region(graph, one, inside, {*outside, *defined})
        _define(graph, node, defined, outside, one.name)
    for name in region.results:
        if name not in defined:
            raise fault(graph, node.name, f"a body of {node.name} yields {name}, not defined there")


def _define(graph: Graph, node: Node, defined: set[str], outside: set[str], name: str) -> None:
    _require_name(graph, name, node.name, f"a value in a body of {node.name}")
    if name in defined or name in outside or name == node.name:
        raise fault(graph, node.name, f"{name} in a body of {node.name} is defined twice")
    defined.add(name)


# ----------------------------------------------------------------------------------- the rest
def _check_outputs(graph: Graph) -> None:
    consumed = {node.writes: node.name for node in graph.nodes if node.writes is not None}
    if not graph.outputs:
        raise fault(graph, "return", "the graph returns nothing")
    for name in graph.outputs:
        if name not in graph.types:
            raise fault(graph, "return", f"the graph returns {name}, which is not defined")
        if name in consumed:
            raise fault(
                graph, "return", f"the graph returns {name}, which {consumed[name]} has overwritten"
            )


def _check_plan(graph: Graph, plan: Plan) -> None:
    _require_known("gradient", [plan.gradient], GRADIENTS)
    _require_known("check", plan.checks, CHECKS)
    if not plan.calls:
        raise InvalidGraph("the plan makes no call, expected at least one")
    for place, call in enumerate(plan.calls):
        names = [given.name for given in call.inputs]
        if len(set(names)) < len(names):
            raise InvalidGraph(f"call {place} of the plan gives an input twice")
        for given in call.inputs:
            if given.name not in graph.input_by_name:
                raise InvalidGraph(f"call {place} gives {given.name}, not an input of the graph")
            for message in _input_faults(given):
                raise InvalidGraph(f"call {place}, {given.name}: {message}")
    for position in plan.loss_outputs:
        if not 0 <= position < len(graph.outputs):
            raise InvalidGraph(
                f"the loss uses output {position}, expected 0 to {len(graph.outputs) - 1}"
            )


def _require_known(what: str, words: Iterable[str], known: tuple[str, ...]) -> None:
    for word in words:
        if word not in known:
            raise InvalidGraph(f"{what} {word} in the plan, expected {' or '.join(known)}")
