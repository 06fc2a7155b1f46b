"""The mode `numpy`: a graph evaluated by the reference of each operator's row.

In the declared dtypes it is one more implementation to compare with. In float64 it is the referee:
what the answer would be without rounding. Disturbed by single roundings it gives a noise floor.

Storage behaves as in the frameworks: a view shares memory with its base where NumPy can give one,
and an in-place node writes into the memory of the value it consumes, for all who share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from engine.ir.graph import Attr, Graph, Input, Node, Region, names_dtype
from engine.ir.types import COMPLEX, FLOATS, Csr, Dense, Tuple, Type, is_float, numpy_dtype
from engine.ops.typing import ITEM, bind, spec_of

__all__ = ["Array", "Value", "epsilon", "evaluate", "smallest_normal"]

Array: TypeAlias = "npt.NDArray[np.generic]"
Value: TypeAlias = "Array | tuple[Value, ...]"

_NARROW = ("float16", "bfloat16")


def evaluate(
    graph: Graph,
    values: Mapping[str, Array],
    *,
    dtype: str | None = None,
    disturb: np.random.Generator | None = None,
    working: str | None = None,
    flush: bool = False,
    before: Callable[[Node, dict[str, Value]], None] | None = None,
    overflow: Callable[[str], None] | None = None,
) -> dict[str, Array]:
    """Every tensor of the graph by name, from arrays for its inputs, which are left as they are.

    `dtype="float64"`: all floating values are float64 (complex ones complex128), whatever they are
    declared as, casts between them included. `disturb`: multiply each floating input and result,
    views aside, by 1 + u eps with u drawn from -1, 0 and 1 and eps that of the dtype `working`, by
    default the declared one; zeros that were computed get either sign. `flush`: subnormal numbers
    of the declared dtype become zeros, as on a processor that is told to flush them. Outputs and
    inputs come as they are at the end, other values as they were when computed; a tuple's values
    are under the names of its `item` nodes, and under "name.0", "name.1", ... where the tuple
    itself is wanted. `before` sees each node and the values so far, which it may replace.
    `overflow` is told the node in which a number grew too great for its dtype.
    """
    run = _Run(dtype, disturb, working, may_write=_writes(graph.nodes), flush=flush)
    scope: dict[str, Value] = dict(run.inputs(graph.inputs, values))
    kept: dict[str, Value] = {}
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if before is not None:
                before(node, scope)
            scope[node.name] = _noted(run, node, scope, overflow)
            kept[node.name] = _copied(scope[node.name]) if run.may_write else scope[node.name]
    final = (*(given.name for given in graph.inputs), *graph.outputs)
    found: dict[str, Array] = {}
    for name, value in {**kept, **{name: scope[name] for name in final}}.items():
        found |= _flat(name, value)
    return found


def _noted(
    run: _Run, node: Node, scope: Mapping[str, Value], overflow: Callable[[str], None] | None
) -> Value:
    if overflow is None:
        return run.node(node, scope)
    with np.errstate(over="call", call=lambda kind, flag: overflow(node.name)):
        return run.node(node, scope)


def epsilon(dtype: str) -> float:
    """Distance from 1 to the next number of a floating or complex dtype."""
    if dtype in COMPLEX:
        dtype = "float32"
    return float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)  # type: ignore[no-untyped-call]


def smallest_normal(dtype: str) -> float:
    """The least positive number of a floating dtype that is not subnormal."""
    found = ml_dtypes.finfo(numpy_dtype(dtype)).smallest_normal  # type: ignore[no-untyped-call]
    return float(found)


def _writes(nodes: Iterable[Node]) -> bool:
    return any(
        node.writes is not None or any(_writes(region.nodes) for region in node.regions)
        for node in nodes
    )


def _flat(name: str, value: Value) -> dict[str, Array]:
    if not isinstance(value, tuple):
        return {name: value}
    found: dict[str, Array] = {}
    for place, item in enumerate(value):
        found |= _flat(f"{name}.{place}", item)
    return found


def _copied(value: Value) -> Value:
    return tuple(map(_copied, value)) if isinstance(value, tuple) else value.copy()


@dataclass(frozen=True)
class _Run:
    dtype: str | None
    disturb: np.random.Generator | None
    working: str | None
    may_write: bool
    flush: bool = False

    # ---- values
    def inputs(self, inputs: Iterable[Input], values: Mapping[str, Array]) -> dict[str, Array]:
        """Own copies of the arrays; those of one alias group share their memory here too."""
        found: dict[str, Array] = {}
        groups: dict[str, Array] = {}
        for given in inputs:
            if given.alias in groups:
                found[given.name] = groups[given.alias].reshape(values[given.name].shape)
                continue
            array = self.cast(values[given.name], given.type)
            array = self.flushed(self.disturbed(array, given.type), given.type)
            if self.may_write and np.shares_memory(array, values[given.name]):
                array = array.copy()
            found[given.name] = array
            if given.alias:
                groups[given.alias] = array
        return found

    def target(self, declared: str) -> str:
        """The dtype in which a value of a declared dtype is kept."""
        if self.dtype == "float64":
            if declared in FLOATS:
                return "float64"
            if declared in COMPLEX:
                return "complex128"
        return declared

    def cast(self, array: object, declared: Type) -> Array:
        array = np.asarray(array)
        if not isinstance(declared, Dense | Csr):
            return array
        target = numpy_dtype(self.target(declared.dtype))
        return array if array.dtype == target else array.astype(target)

    def disturbed(self, array: Array, declared: Type) -> Array:
        if self.disturb is None or not isinstance(declared, Dense | Csr):
            return array
        if not is_float(declared.dtype) and declared.dtype not in COMPLEX:
            return array
        eps = epsilon(self.working or declared.dtype)
        steps = self.disturb.integers(-1, 2, array.shape)
        wide = "complex128" if declared.dtype in COMPLEX else "float64"
        # NumPy answers with a scalar where there are no axes.
        moved: Array = np.asarray(array.astype(wide) * (1.0 + eps * steps))
        return moved.astype(array.dtype)

    def signed(self, array: Array) -> Array:
        """Computed zeros with a sign drawn anew: which one a sum or a maximum has is free."""
        if self.disturb is None or array.dtype.kind != "f" or array.all():
            return array
        turned = (array == 0) & (self.disturb.integers(0, 2, array.shape) == 1)
        found: Array = np.where(turned, -array, array)
        return found

    def flushed(self, array: Array, declared: Type) -> Array:
        """Without the subnormal numbers of the declared dtype, where that is asked for."""
        if not self.flush or not isinstance(declared, Dense | Csr) or not is_float(declared.dtype):
            return array
        wide = array.astype(np.float64)
        tiny = np.abs(wide) < smallest_normal(declared.dtype)
        found: Array = np.where(tiny, np.copysign(0.0, wide), wide).astype(array.dtype)
        return found

    # ---- nodes
    def node(self, node: Node, scope: Mapping[str, Value]) -> Value:
        if node.op == ITEM:
            whole, index = scope[node.uses[0]], node.attr("index")
            assert isinstance(whole, tuple)
            assert isinstance(index, int)
            return whole[index]
        if node.regions:
            return self.control(node, scope)
        spec = spec_of(node)
        widen = node.views is None and self.dtype is None
        operands = [
            None if name is None else _widened(scope[name]) if widen else scope[name]
            for name in node.operands
        ]
        attrs = {name: self.attr(name, value) for name, value in node.attrs}
        result = spec.reference(*bind(spec, operands).values(), **attrs)
        settled = self.settled(result, node, [scope[name] for name in node.uses])
        if node.writes is None:
            return settled
        return _written(scope[node.writes], settled)

    def attr(self, name: str, value: Attr) -> Attr:
        if names_dtype(value, name):
            return self.target(value)
        return value

    def settled(self, result: object, node: Node, operands: Iterable[Value]) -> Value:
        """The reference's answer in the declared types, disturbed; only views share memory."""
        if isinstance(node.type, Tuple):
            assert isinstance(result, tuple | list), f"{node.op} answered {type(result)}"
            return tuple(
                self.settled_array(one, of, node, operands)
                for one, of in zip(result, node.type.items, strict=True)
            )
        return self.settled_array(result, node.type, node, operands)

    def settled_array(
        self, result: object, declared: Type, node: Node, operands: Iterable[Value]
    ) -> Array:
        array = self.cast(result, declared)
        if node.views is not None:
            return array
        array = self.flushed(self.signed(self.disturbed(array, declared)), declared)
        if self.may_write and any(_share(array, operand) for operand in operands):
            array = array.copy()
        return array

    # ---- nodes with bodies
    def control(self, node: Node, scope: Mapping[str, Value]) -> Value:
        given = [scope[name] for name in node.uses[: len(node.operands)]]
        body = node.regions[-1]
        match node.op:
            case "map":
                return tuple(self.body(body, [one], scope)[0] for one in given)
            case "filter":
                return self.kept(node, given, scope)
            case "scan":
                carried, *elements = given
                shown = []
                for one in elements:
                    carried, more = self.body(body, [carried, one], scope)
                    shown.append(more)
                return (carried, *shown)
            case _:
                return self.loop(node, scope)

    def kept(self, node: Node, given: Iterable[Value], scope: Mapping[str, Value]) -> Value:
        """The sum of the elements for which the body holds, from nought."""
        first, *_ = given
        assert isinstance(first, np.ndarray)
        total: Value = np.multiply(first, 0, dtype=first.dtype)
        for one in given:
            if self.body(node.regions[-1], [one], scope)[0]:
                assert isinstance(one, np.ndarray)
                total = np.add(total, one)
        return self.settled_array(total, node.type, node, [])

    def loop(self, node: Node, scope: Mapping[str, Value]) -> Value:
        carried = [scope[name] for name in node.uses[: len(node.operands)]]
        turns = node.attr("trips") if node.op == "for" else node.bound
        assert isinstance(turns, int)
        for _ in range(turns):
            if any(not self.body(one, carried, scope)[0] for one in node.regions[:-1]):
                break
            carried = self.body(node.regions[-1], carried, scope)
        return tuple(carried) if isinstance(node.type, Tuple) else carried[0]

    def body(
        self, region: Region, carried: Iterable[Value], scope: Mapping[str, Value]
    ) -> list[Value]:
        inner = {inside: scope[outer] for inside, outer in region.captures}
        inner |= {one.name: value for one, value in zip(region.parameters, carried, strict=True)}
        for node in region.nodes:
            inner[node.name] = self.node(node, inner)
        return [inner[name] for name in region.results]


def _widened(value: Value) -> Value:
    """Narrow floats as float32, in which the frameworks accumulate too."""
    if isinstance(value, tuple):
        return tuple(map(_widened, value))
    narrow = any(value.dtype == numpy_dtype(name) for name in _NARROW)
    return value.astype(np.float32) if narrow else value


def _share(array: Array, value: Value) -> bool:
    if isinstance(value, tuple):
        return any(_share(array, item) for item in value)
    return np.may_share_memory(array, value)


def _written(target: Value, result: Value) -> Array:
    assert isinstance(target, np.ndarray)
    assert isinstance(result, np.ndarray)
    np.copyto(target, result, casting="unsafe")
    return target
