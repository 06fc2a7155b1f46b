"""What the matrix consists of: a call of an operator in one form, in one dtype, on a framework."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from engine.ir.case import Case, Plan
from engine.ir.digest import case_digest
from engine.ir.graph import Graph, Input, Node
from engine.ir.types import Dense, Tuple, is_float
from engine.ops import OPS, OpSpec
from engine.ops.examples import Example, plainest_calls
from engine.ops.typing import ITEM, retype_node

__all__ = ["Cell", "Refusal", "cells", "joined", "refusals"]


@dataclass(frozen=True)
class Cell:
    """The plainest call of a row that a form holds for in a dtype."""

    example: Example
    framework: str
    form: str
    dtype: str

    @property
    def op(self) -> str:
        return self.example.spec.name

    @property
    def name(self) -> tuple[str, str, str, str]:
        return self.framework, self.op, self.form, self.dtype

    @property
    def words(self) -> str:
        """As people name it: "relu.method of float32"."""
        return f"{self.op}.{self.form} of {self.dtype}"

    @cached_property
    def has_gradient(self) -> bool:
        """Whether its gradient can be asked for."""
        results = self.example.type
        return (
            self.example.spec.differentiable
            and isinstance(results, Dense)
            and is_float(results.dtype)
            and any(_is_leaf(one) for one in self.example.inputs)
        )

    @cached_property
    def case(self) -> Case:
        """The call alone, with its gradient where it has one."""
        return joined([self], gradient=self.has_gradient)

    @cached_property
    def digest(self) -> str:
        """Changes with whatever of the row this cell depends on: call, operands, text."""
        form = self.example.spec.forms[self.framework][self.form]
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
    if "control" in spec.tags:
        return
    for dtype in spec.dtypes:
        for example, names in plainest_calls(spec, framework, dtype):
            yield from (Cell(example, framework, name, dtype) for name in names)


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
                reason = "a body is needed; run by the mutations of control flow"
            yield Refusal(framework, spec.name, name, dtype, reason)


def joined(several: Sequence[Cell], *, gradient: bool) -> Case:
    """One program with every call as an output: c0_x, c0_y -> v0; c1_x -> v1; ..."""
    inputs: list[Input] = []
    nodes: list[Node] = []
    outputs: list[str] = []
    for place, cell in enumerate(several):
        names = {one.name: f"c{place}_{one.name}" for one in cell.example.inputs}
        given = [replace(one, name=names[one.name]) for one in cell.example.inputs]
        given = [replace(one, alias=f"c{place}_{one.alias}") if one.alias else one for one in given]
        if gradient:
            given = [replace(one, requires_grad=_is_leaf(one)) for one in given]
        node = cell.example.node(forms={cell.framework: cell.form})
        operands = tuple(None if one is None else names[one] for one in node.operands)
        moved = replace(node, name=f"v{place}", operands=operands)
        inputs += given
        called = retype_node(moved, {one.name: one.type for one in given})
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


def _is_leaf(given: Input) -> bool:
    return isinstance(given.type, Dense) and is_float(given.type.dtype)


def all_cells(framework: str, ops: Sequence[str] = ()) -> Iterator[Cell]:
    """The cells of the named rows, of all rows where none is named."""
    for name in ops or OPS:
        yield from cells(OPS[name], framework)
