"""What the matrix consists of: a call of an operator in one form, in one dtype, on a framework."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from engine.ir.case import Case, Plan
from engine.ir.digest import case_digest
from engine.ir.graph import Graph, Input, Node
from engine.ir.types import Dense, Tuple, Type, is_float
from engine.ops import OPS, OpSpec
from engine.ops.examples import Example, further_calls, plainest_calls
from engine.ops.spec import Form
from engine.ops.typing import ITEM, bind, retype_node
from engine.support.bodies import NO_BODY, calls_with_bodies

__all__ = ["Cell", "Refusal", "cells", "further", "joined", "refusals"]


@dataclass(frozen=True)
class Cell:
    """The plainest call of a row that a form holds for in a dtype; or one that differs from it in
    what `call` says."""

    example: Example
    framework: str
    form: str
    dtype: str
    call: str = ""

    @property
    def op(self) -> str:
        return self.example.spec.name

    @property
    def name(self) -> tuple[str, str, str, str]:
        form = f"{self.form} with {self.call}" if self.call else self.form
        return self.framework, self.op, form, self.dtype

    @property
    def words(self) -> str:
        """As people name it: "relu.method of float32"."""
        return f"{self.op}.{self.name[2]} of {self.dtype}"

    @cached_property
    def has_gradient(self) -> bool:
        """Whether its gradient can be asked for."""
        results, spec = self.example.type, self.example.spec
        return (
            spec.differentiable
            and not self.written_as.no_gradient
            and isinstance(results, Dense)
            and is_float(results.dtype)
            and bool(self.leaves)
            # Of what a cast is given beside its operand it reads the dtype alone.
            and ("cast" not in spec.tags or self.example.operands[0] in self.leaves)
        )

    @property
    def written_as(self) -> Form:
        """What the form says."""
        return self.example.spec.forms[self.framework][self.form]

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The inputs that a gradient can be asked for."""
        bound = bind(self.example.spec, self.example.operands)
        fixed = {bound[slot] for slot in self.example.spec.fixed}
        return frozenset(
            one.name for one in self.example.inputs if _is_leaf(one) and one.name not in fixed
        )

    @cached_property
    def written(self) -> frozenset[str]:
        """The inputs that the call writes, or whose view it changes in place."""
        spec = self.example.spec
        bound = bind(spec, self.example.operands)
        slots = [spec.writes] if spec.writes else []
        slots += [spec.first.name] if self.written_as.restrides else []
        return frozenset(one for slot in slots if isinstance(one := bound[slot], str))

    @cached_property
    def case(self) -> Case:
        """The call alone, with its gradient where it has one."""
        return joined([self], gradient=self.has_gradient)

    @cached_property
    def digest(self) -> str:
        """Changes with whatever of the row this cell depends on: call, operands, text."""
        form = self.written_as
        text = f"{case_digest(self.case)} {form.setup} {form.before} {form.call} {form.result}"
        return sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Refusal:
    """A form and dtype that is not run, and why."""

    framework: str
    op: str
    form: str
    dtype: str
    reason: str


def cells(spec: OpSpec, framework: str) -> Iterator[Cell]:
    """Every form of the row on the framework in every dtype that it holds for."""
    for dtype in spec.dtypes:
        if "control" in spec.tags:
            for example in calls_with_bodies(spec, dtype):
                yield from (Cell(example, framework, one, dtype) for one in spec.forms[framework])
            continue
        for example, names in plainest_calls(spec, framework, dtype):
            yield from (Cell(example, framework, name, dtype) for name in names)


def further(spec: OpSpec, framework: str) -> Iterator[Cell]:
    """Calls of the row that the plainest do not reach, in its most ordinary dtype."""
    if "control" in spec.tags:
        return
    dtype = "float32" if "float32" in spec.dtypes else spec.dtypes[0]
    plain = [
        (name, example.inputs, example.attrs)
        for example, names in plainest_calls(spec, framework, dtype)
        for name in names
    ]
    for call, example, form in further_calls(spec, framework, dtype):
        if (form, example.inputs, example.attrs) not in plain:
            yield Cell(example, framework, form, dtype, call)


def refusals(spec: OpSpec, framework: str) -> Iterator[Refusal]:
    """Every form and dtype of the row that no cell stands for."""
    made = {(one.form, one.dtype) for one in cells(spec, framework)}
    for dtype in spec.dtypes:
        for name in spec.forms[framework]:
            if (name, dtype) in made:
                continue
            reasons = [one.reason for one in spec.limits_of(framework, name, [dtype])]
            reason = "; ".join(reasons) or "the documentation of the form does not have the dtype"
            if "control" in spec.tags:
                reason = NO_BODY
            yield Refusal(framework, spec.name, name, dtype, reason)


def joined(several: Sequence[Cell], *, gradient: bool) -> Case:
    """One program with every call as an output: c0_x, c0_y -> v0; c1_x -> v1; ...

    Where a gradient is asked for, what a call writes is a copy: no leaf may be written.
    """
    inputs: list[Input] = []
    nodes: list[Node] = []
    outputs: list[str] = []
    for place, cell in enumerate(several):
        names = {one.name: f"c{place}_{one.name}" for one in cell.example.inputs}
        given = [replace(one, name=names[one.name]) for one in cell.example.inputs]
        given = [replace(one, alias=f"c{place}_{one.alias}") if one.alias else one for one in given]
        if gradient:
            leaves = {names[one] for one in cell.leaves}
            given = [replace(one, requires_grad=one.name in leaves) for one in given]
            for one in sorted(cell.written & cell.leaves):
                copied = Node(f"{names[one]}_copy", "clone", (names[one],), _type_of(cell, one))
                nodes.append(copied)
                names[one] = copied.name
        node = cell.example.node(forms={cell.framework: cell.form})
        operands = tuple(None if one is None else names[one] for one in node.operands)
        moved = replace(node, name=f"v{place}", operands=operands)
        inputs += given
        types = {one.name: one.type for one in given} | {one.name: one.type for one in nodes}
        called = retype_node(moved, types)
        parts = _parts(called)
        nodes += [called, *parts]
        outputs += [one.name for one in parts or (called,)]
    plan = Plan(gradient="reverse", checks=("values", "gradients", "state"))
    name = several[0].op if len(several) == 1 else "several"
    graph = Graph(name, tuple(inputs), tuple(nodes), tuple(outputs))
    return Case(graph, plan if gradient else Plan())


def _parts(called: Node) -> list[Node]:
    """Nodes that take the values of a tuple apart, none for a tensor."""
    if not isinstance(called.type, Tuple):
        return []
    return [
        Node(f"{called.name}_{place}", ITEM, (called.name,), one, (("index", place),))
        for place, one in enumerate(called.type.items)
    ]


def _type_of(cell: Cell, name: str) -> Type:
    return next(one.type for one in cell.example.inputs if one.name == name)


def _is_leaf(given: Input) -> bool:
    return isinstance(given.type, Dense) and is_float(given.type.dtype)


def all_cells(framework: str, ops: Sequence[str] = ()) -> Iterator[Cell]:
    """The cells of the named rows, of all rows where none is named; those of forms first."""
    names = ops or tuple(OPS)
    yield from (one for name in names for one in cells(OPS[name], framework))
    yield from (one for name in names for one in further(OPS[name], framework))
