"""Passes of the minimiser: each proposes simpler cases, biggest cut first; none runs anything.

A pass is a function from a case (and the store of its values) to proposals. It must be
deterministic, and it need not check that a proposal is legal or smaller: the search does both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from engine.errors import ConstraintViolated
from engine.executors.reference import evaluate
from engine.ir.case import Call, Case, Plan
from engine.ir.digest import stored_blob
from engine.ir.graph import Attr, Formula, Graph, Input, Literal, Node, Random, Region
from engine.ir.types import Dense, Tuple, is_float
from engine.ir.values import materialise
from engine.ir.window import cut
from engine.minimiser.fitting import fitted
from engine.ops import OPS
from engine.ops.typing import retype

__all__ = ["PASSES", "Blobs", "cut_round"]

Array: TypeAlias = "npt.NDArray[np.generic]"
Blobs: TypeAlias = "MutableMapping[str, Array]"
LITERAL_LIMIT = 64
_FURTHEST = 3


# ---------------------------------------------------------------------------------- structure
def start_late(case: Case, blobs: Blobs) -> Iterator[Case]:
    """The last node, the last two, three, four, eight and so on, fed with the values they see, with
    those outputs that they make: what two outputs have in common stays."""
    graph = case.graph
    values = _values(case, blobs) if len(graph.nodes) > 1 else None
    length = 1
    while values is not None and length < len(graph.nodes):
        names = {node.name for node in graph.nodes[-length:]}
        kept = tuple(one for one in graph.outputs if one in names)
        if kept:
            smaller, more = cut(case, names, values, outputs=kept)
            if len(smaller.graph.nodes) < len(graph.nodes):
                blobs.update(more)
                yield _carried(smaller, case)
        length += max(1, length // 4 * 4)


def cut_out(case: Case, blobs: Blobs) -> Iterator[Case]:
    """Single nodes, then growing sets of ancestors, fed with the values they see."""
    ends = [node.name for node in reversed(case.graph.calls)]
    yield from _cut(case, blobs, ((name, depth) for depth in (0, 1, 2, 4) for name in ends))


def cut_round(names: Sequence[str], case: Case, blobs: Blobs) -> Iterator[Case]:
    """As `cut_out`, round the nodes named: the first of them alone, with all that leads to it, and
    with some of that; then each of the others alone."""
    graph = case.graph
    ends = [one for one in names if one in graph.by_name and graph.by_name[one].op != "item"]
    first = [(name, depth) for name in ends[:1] for depth in (0, len(graph.nodes), 1, 2, 4)]
    yield from _cut(case, blobs, (*first, *((name, 0) for name in ends[1:])))


def _cut(case: Case, blobs: Blobs, ends: Iterable[tuple[str, int]]) -> Iterator[Case]:
    """The named nodes, each with its ancestors up to a depth, fed with the values they see."""
    graph = case.graph
    if len(graph.nodes) < 2:
        return
    values = _values(case, blobs)
    if values is None:
        return
    for name, depth in ends:
        inner = _ancestors(graph, name, depth)
        if len(inner) < len(graph.nodes):
            try:
                smaller, more = cut(case, inner, values)
            except ConstraintViolated:
                continue  # what would enter is no dense tensor
            if len(smaller.graph.nodes) < len(graph.nodes):
                blobs.update(more)
                yield _carried(smaller, case)


def drop_outputs(case: Case, blobs: Blobs) -> Iterator[Case]:
    """One output alone, then all but one; nodes that nothing reads go too."""
    outputs = case.graph.outputs
    if len(outputs) < 2:
        return
    for place, name in enumerate(outputs):
        yield _pruned(case, (name,), (place,))
    for place in range(len(outputs)):
        kept = tuple(at for at in range(len(outputs)) if at != place)
        yield _pruned(case, tuple(outputs[at] for at in kept), kept)


def shorten_outputs(case: Case, blobs: Blobs) -> Iterator[Case]:
    """An output replaced by what its last operator was given."""
    outputs = case.graph.outputs
    everywhere = tuple(range(len(outputs)))
    for place, name in enumerate(outputs):
        node = case.graph.by_name.get(name)
        for operand in dict.fromkeys(node.uses if node else ()):
            inner = case.graph.by_name.get(operand)
            if inner is not None and not isinstance(inner.type, Tuple) and operand not in outputs:
                shorter = (*outputs[:place], operand, *outputs[place + 1 :])
                yield _pruned(case, shorter, everywhere)


def bypass(case: Case, blobs: Blobs) -> Iterator[Case]:
    """A node replaced by a value of the same type that it is computed from, the furthest first: two
    reshapes there and back go at once. What writes is replaced by what it writes to. Then a node
    replaced by its operand in another shape, where what follows takes that."""
    graph = case.graph
    place = {name: at for at, name in enumerate(graph.types)}
    for node in reversed(graph.nodes):
        sources = {node.writes} if node.writes else _sources(graph, node)
        alike = [one for one in sources if graph.types[one] == node.type]
        alike.sort(key=place.__getitem__)
        for one in (*alike[:_FURTHEST], *alike[_FURTHEST:][-1:]):
            yield from _substituted(case, {node.name: one})
    for node in reversed(graph.nodes):
        operand = None if node.writes else next((one for one in node.operands if one), None)
        if operand and _is_reshaped(graph, node, operand):
            yield from _substituted(case, {node.name: operand})


def _is_reshaped(graph: Graph, node: Node, operand: str) -> bool:
    """Whether a node is its operand in another shape only, by dtype."""
    one, other = graph.types[operand], node.type
    if not isinstance(one, Dense) or not isinstance(other, Dense):
        return False
    return one != other and one.dtype == other.dtype


def replace_by_input(case: Case, blobs: Blobs) -> Iterator[Case]:
    """A node replaced by an input that holds the value it computes."""
    graph = case.graph
    if len(graph.nodes) < 2:
        return
    values = _values(case, blobs)
    if values is None:
        return
    for node in graph.nodes:
        if isinstance(node.type, Tuple) or node.name not in values or node.writes:
            continue
        names = [one.name for one in graph.nodes if one.name != node.name]
        smaller, more = cut(case, names, values, outputs=_without(graph.outputs, node.name))
        blobs.update(more)
        smaller = _carried(smaller, case)
        yield _pruned(smaller, smaller.graph.outputs, tuple(range(len(smaller.graph.outputs))))


def drop_regions(case: Case, blobs: Blobs) -> Iterator[Case]:
    """A smaller bound for control flow."""
    for node in case.graph.nodes:
        for bound in (1, 2):
            if node.bound is not None and node.bound > bound:
                yield case.with_graph(case.graph.with_node(replace(node, bound=bound)))


# --------------------------------------------------------------------------------------- plan
def simplify_plan(case: Case, blobs: Blobs) -> Iterator[Case]:
    """No gradient, one call, fewer checks."""
    plan = case.plan
    yield replace(case, plan=Plan(checks=("values",)))
    if plan.gradient != "none":
        yield replace(case, plan=replace(plan, gradient="none"))
        yield replace(case, plan=replace(plan, gradient="reverse"))
    if len(plan.calls) > 1:
        yield replace(case, plan=replace(plan, calls=plan.calls[:1]))
        yield replace(case, plan=replace(plan, calls=(Call(), Call())))
    for checked in plan.checks:
        if len(plan.checks) > 1:
            yield replace(case, plan=replace(plan, checks=(checked,)))


# ------------------------------------------------------------------------------------- extents
def shrink_extents(case: Case, blobs: Blobs) -> Iterator[Case]:
    """One extent smaller everywhere it occurs, in inputs and in attributes."""
    extents = {
        extent
        for given in case.graph.inputs
        if isinstance(given.type, Dense)
        for extent in given.type.extents
        if extent > 1
    }
    for extent in sorted(extents, reverse=True):
        for part in _parts(extent):
            yield from _resized(case, blobs, extent, part)


def shrink_one_axis(case: Case, blobs: Blobs) -> Iterator[Case]:
    """One axis of one input smaller."""
    for given in case.graph.inputs:
        if not isinstance(given.type, Dense):
            continue
        for axis, extent in enumerate(given.type.extents):
            for part in _parts(extent):
                sliced = np.take(_array(given, blobs), part, axis=axis)
                yield from _retyped(case, {given.name: _stored(given, sliced, blobs)})


def drop_leading_axes(case: Case, blobs: Blobs) -> Iterator[Case]:
    """Inputs without their leading axes of extent 1."""
    changes = {}
    for given in case.graph.inputs:
        if isinstance(given.type, Dense) and given.type.rank > 1 and given.type.extents[0] == 1:
            changes[given.name] = _stored(given, _array(given, blobs)[0], blobs)
    if changes:
        yield from _retyped(case, changes)
        for name, one in changes.items():
            yield from _retyped(case, {name: one})


def flatten_inputs(case: Case, blobs: Blobs) -> Iterator[Case]:
    """All inputs of one shape as vectors."""
    changes = {}
    for given in case.graph.inputs:
        if isinstance(given.type, Dense) and given.type.rank > 1:
            changes[given.name] = _stored(given, _array(given, blobs).ravel(), blobs)
    if changes:
        yield from _retyped(case, changes)


# -------------------------------------------------------------------------------- simplification
def plain_forms(case: Case, blobs: Blobs) -> Iterator[Case]:
    """All calls in their plainest form, then one at a time."""
    graph = case.graph
    yield case.with_graph(graph.with_nodes(replace(node, forms=()) for node in graph.nodes))
    for node in graph.nodes:
        for framework, _ in node.forms:
            yield case.with_graph(graph.with_node(node.with_form(framework, "")))


def plain_attributes(case: Case, blobs: Blobs) -> Iterator[Case]:
    """Attributes at their most ordinary value."""
    graph = case.graph
    for node in graph.nodes:
        spec = OPS.get(node.op)
        for name, value in node.attrs if spec else ():
            plainer = _plainer(value, spec.attrs.get(name, ()) if spec else ())
            for other in plainer:
                yield from _retyped(
                    case.with_graph(graph.with_node(node.with_attrs(**{name: other}))), {}
                )


def plain_dtypes(case: Case, blobs: Blobs) -> Iterator[Case]:
    """Every floating input in float32, then one at a time."""
    changes = {}
    for given in case.graph.inputs:
        if (
            isinstance(given.type, Dense)
            and is_float(given.type.dtype)
            and given.type.dtype != "float32"
        ):
            array = _array(given, blobs)
            with np.errstate(all="ignore"):
                changes[given.name] = _stored(given, array.astype(np.float32), blobs, "float32")
    if changes:
        yield from _retyped(case, changes)


def plain_inputs(case: Case, blobs: Blobs) -> Iterator[Case]:
    """Contiguous layouts, no aliases, no gradients asked for."""
    for given in case.graph.inputs:
        for other in (
            replace(given, layout="contiguous", alias="", requires_grad=False),
            replace(given, layout="contiguous"),
            replace(given, alias=""),
            replace(given, requires_grad=False),
        ):
            if other != given:
                yield from _retyped(case, {given.name: other})


def merge_inputs(case: Case, blobs: Blobs) -> Iterator[Case]:
    """All inputs of one type replaced by the first, then two by one."""
    inputs = case.graph.inputs
    first = {given.type: given.name for given in reversed(inputs)}
    alike = {given.name: first[given.type] for given in inputs if first[given.type] != given.name}
    if len(alike) > 1:
        yield from _substituted(case, alike)
    for place, later in reversed(tuple(enumerate(inputs))):
        for earlier in inputs[:place]:
            if later.type == earlier.type:
                yield from _substituted(case, {later.name: earlier.name})


def plain_values(case: Case, blobs: Blobs) -> Iterator[Case]:
    """Ones, a ramp, rounded values, short literals, a generator: for all inputs, then for each."""
    proposals = [_plain_inits(given, blobs) for given in case.graph.inputs]
    for at in range(max((len(one) for one in proposals), default=0)):
        changes = {
            given.name: replace(given, init=options[min(at, len(options) - 1)])
            for given, options in zip(case.graph.inputs, proposals, strict=True)
            if options
        }
        yield from _retyped(case, changes)
    for given, options in zip(case.graph.inputs, proposals, strict=True):
        for init in options:
            if init != given.init:
                yield from _retyped(case, {given.name: replace(given, init=init)})


def _plain_inits(given: Input, blobs: Blobs) -> list[Literal | Formula | Random]:
    if not isinstance(given.type, Dense):
        return []
    array = _array(given, blobs)
    with np.errstate(all="ignore"):  # rounding the greatest numbers overflows
        return _plain_inits_of(given.type, array)


def _plain_inits_of(of: Dense, array: Array) -> list[Literal | Formula | Random]:
    options: list[Literal | Formula | Random] = [Formula("full", (("value", 1),))]
    if of.dtype != "bool":
        options.append(Formula("arange", (("start", 1), ("step", 1))))
    if array.size <= LITERAL_LIMIT and array.dtype.kind != "c":
        flat = array.ravel()
        if is_float(of.dtype):
            wide = flat.astype(np.float64)
            options.extend(
                Literal(tuple(float(x) for x in np.round(wide, digits))) for digits in (0, 1, 2)
            )
            options.extend(
                Literal(tuple(float(f"{x:.{digits}g}") for x in wide)) for digits in (1, 3)
            )
            # The shortest decimal that reads back as the same number of the dtype.
            options.append(Literal(tuple(float(str(x)) for x in flat)))
        elif of.dtype == "bool":
            options.append(Literal(tuple(bool(x) for x in flat)))
        else:
            options.append(Literal(tuple(int(x) for x in flat)))
    if is_float(of.dtype):
        options.append(Random("normal", 0, (("mean", 0.0), ("std", 1.0))))
    return options


PASSES: dict[str, Callable[[Case, Blobs], Iterator[Case]]] = {
    "simplify plan": simplify_plan,
    "start late": start_late,
    "cut out": cut_out,
    "drop outputs": drop_outputs,
    "shorten outputs": shorten_outputs,
    "replace by input": replace_by_input,
    "bypass": bypass,
    "bound": drop_regions,
    "shrink extents": shrink_extents,
    "shrink one axis": shrink_one_axis,
    "drop leading axes": drop_leading_axes,
    "flatten inputs": flatten_inputs,
    "merge inputs": merge_inputs,
    "plain forms": plain_forms,
    "plain attributes": plain_attributes,
    "plain dtypes": plain_dtypes,
    "plain inputs": plain_inputs,
    "plain values": plain_values,
}


# ------------------------------------------------------------------------------------- shared
def _values(case: Case, blobs: Blobs) -> dict[str, Array] | None:
    """What every value holds, from the NumPy reference in the declared dtypes; None where that has
    no answer, as for an index out of range."""
    try:
        return dict(evaluate(case.graph, materialise(case.graph, blobs)))
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError):
        return None


def _array(given: Input, blobs: Blobs) -> Array:
    return materialise((given,), blobs)[given.name]


def _stored(given: Input, array: Array, blobs: Blobs, dtype: str = "") -> Input:
    assert isinstance(given.type, Dense)
    array = np.ascontiguousarray(array)
    return replace(
        given,
        type=Dense(dtype or given.type.dtype, array.shape),
        init=stored_blob(array, blobs),
        layout="contiguous" if given.layout != "contiguous" and array.ndim < 2 else given.layout,
    )


def _retyped(case: Case, changes: dict[str, Input]) -> Iterator[Case]:
    """The case with inputs replaced and every type inferred again, if the operators accept it."""
    graph = case.graph
    inputs = tuple(changes.get(given.name, given) for given in graph.inputs)
    changed = replace(graph, inputs=inputs)
    for infer in (retype, fitted) if changes else (retype,):
        try:
            yield case.with_graph(infer(changed))
        except ConstraintViolated:
            continue
        return


def _parts(extent: int) -> Iterator[range]:
    """Indices to keep of an axis: one, two, half, all but one; from the start and from the end."""
    for smaller in dict.fromkeys((1, 2, 3, extent // 2, extent - 1)):
        if not 0 < smaller < extent:
            continue
        starts = range(min(extent, 16)) if smaller == 1 else (0, extent - smaller)
        yield from (range(start, start + smaller) for start in starts)


def _resized(case: Case, blobs: Blobs, extent: int, part: range) -> Iterator[Case]:
    changes = {}
    for given in case.graph.inputs:
        if isinstance(given.type, Dense) and extent in given.type.extents:
            array = _array(given, blobs)
            for axis, length in enumerate(given.type.extents):
                if length == extent:
                    array = np.take(array, part, axis=axis)
            changes[given.name] = _stored(given, array, blobs)
    nodes = tuple(_with_extent(node, extent, len(part)) for node in case.graph.nodes)
    for attempt in (nodes, case.graph.nodes):
        yield from _retyped(case.with_graph(case.graph.with_nodes(attempt)), changes)


def _with_extent(node: Node, extent: int, smaller: int) -> Node:
    changed = {
        name: tuple(smaller if one == extent else one for one in value)
        for name, value in node.attrs
        if isinstance(value, tuple)
    }
    return node.with_attrs(**changed) if changed else node


def _substituted(case: Case, others: Mapping[str, str]) -> Iterator[Case]:
    """Every use of the named values replaced by others, and what is then unused removed."""
    graph = case.graph
    nodes = tuple(
        replace(
            node,
            operands=tuple(one and others.get(one, one) for one in node.operands),
            writes=node.writes and others.get(node.writes, node.writes),
            views=node.views and others.get(node.views, node.views),
            regions=tuple(_captured(one, others) for one in node.regions),
        )
        for node in graph.nodes
        if node.name not in others
    )
    outputs = tuple(dict.fromkeys(others.get(one, one) for one in graph.outputs))
    inputs = tuple(given for given in graph.inputs if given.name not in others)
    changed = case.with_graph(replace(graph, nodes=nodes, outputs=outputs, inputs=inputs))
    for attempt in _retyped(changed, {}):
        if any(one in attempt.graph.by_name for one in attempt.graph.outputs):
            attempt = _carried(attempt, case, others)
            yield _pruned(attempt, outputs, tuple(range(len(outputs))))


def _captured(region: Region, others: Mapping[str, str]) -> Region:
    captures = tuple((inner, others.get(outer, outer)) for inner, outer in region.captures)
    return replace(region, captures=captures)


def _pruned(case: Case, outputs: tuple[str, ...], kept: tuple[int, ...]) -> Case:
    """The case with these outputs, without nodes and inputs that nothing reads.

    `kept`: old positions of the outputs, to carry the loss along. Writes are kept while anything of
    their alias class is read.
    """
    graph = case.graph
    needed = set(outputs)
    nodes = []
    for node in reversed(graph.nodes):
        if node.name in needed or (
            node.writes and needed.intersection(_aliases(graph, node.writes))
        ):
            nodes.append(node)
            needed.update(node.uses)
    inputs = tuple(given for given in graph.inputs if given.name in needed)
    loss = tuple(kept.index(one) for one in case.plan.loss_outputs if one in kept)
    return replace(
        case,
        graph=Graph(graph.name, inputs, tuple(reversed(nodes)), outputs),
        plan=replace(case.plan, loss_outputs=loss),
    )


def _carried(smaller: Case, case: Case, others: Mapping[str, str] | None = None) -> Case:
    """A part of a case whose loss reads those of the outputs that the loss of the whole reads, or
    the `others` in their place; all of them where none is left."""
    names = (case.graph.outputs[at] for at in case.plan.loss_outputs)
    read = {(others or {}).get(name, name) for name in names}
    loss = tuple(at for at, name in enumerate(smaller.graph.outputs) if name in read)
    return replace(smaller, plan=replace(smaller.plan, loss_outputs=loss))


def _aliases(graph: Graph, name: str) -> set[str]:
    found = {name}
    for node in graph.nodes:
        if node.views in found or node.writes in found:
            found.add(node.name)
    base = graph.by_name.get(name)
    while base is not None and (base.views or base.writes):
        previous = base.views or base.writes
        assert previous is not None
        found.add(previous)
        base = graph.by_name.get(previous)
    return found


def _sources(graph: Graph, node: Node) -> set[str]:
    """Every value that a node is computed from, inputs too."""
    found: set[str] = set()
    pending = [one for one in node.operands if one]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            if name in graph.by_name:
                pending += [one for one in graph.by_name[name].operands if one]
    return found


def _ancestors(graph: Graph, name: str, depth: int) -> tuple[str, ...]:
    found = {name}
    frontier = {name}
    for _ in range(depth):
        frontier = {
            used for one in frontier for used in graph.by_name[one].uses if used in graph.by_name
        } - found
        found |= frontier
    return tuple(one.name for one in graph.nodes if one.name in found)


def _without(outputs: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(one for one in outputs if one != name)


def _plainer(value: Attr, order: tuple[Attr, ...]) -> tuple[Attr, ...]:
    """The values before this one in the row's order, plainest first."""
    return order[: order.index(value)] if value in order else order[:1]
