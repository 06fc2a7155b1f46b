"""One complete comparison of a case: what every mode answered and what it is measured against."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from engine.executors.outcome import Array, CallAnswer, Outcome, Status
from engine.ir.case import Case
from engine.ir.graph import Graph, Node
from engine.ops import OPS
from engine.oracles.keys import form_of
from engine.oracles.promises import MAY_BE_OPERAND, MAY_COPY
from engine.oracles.referee import Referee
from engine.oracles.undefined import spread, undefined_values

__all__ = ["BASELINE", "Comparison", "Counterpart", "Gradients", "framework_of"]

# The mode of each framework that its compiled modes are measured against.
BASELINE = {"torch": "torch-eager", "mindspore": "mindspore-pynative"}
_REFEREE_MODES = ("numpy", "torch-eager-f64")


@dataclass(frozen=True)
class Gradients:
    """The gradient referee: the graph in torch-eager-f64, and how far disturbed runs move.

    `disturbed` runs the referee again with inputs moved by one unit in the last place of the
    working dtype and is called for suspects only. `is_smooth(name, index)`: whether the loss has
    the same derivative from both sides there, and `slope`: what it is, both by differences in
    float64 on NumPy; None where they do not tell. `fine_slope`: the same to more digits than
    float32 has. `transposed`: where forward mode was asked for,
    what reverse mode's gradients amount to along the same directions, and `scale` the sum of the
    absolute terms of that.
    """

    exact: Mapping[str, Array | None]
    disturbed: Callable[[], tuple[Mapping[str, Array | None], ...]]
    is_smooth: Callable[[str, tuple[int, ...]], bool]
    slope: Callable[[str, tuple[int, ...]], float | None] = lambda name, index: None
    transposed: float | None = None
    scale: float = 0.0
    fine_slope: Callable[[str, tuple[int, ...]], float | None] = lambda name, index: None


@dataclass(frozen=True)
class Counterpart:
    """Another program that must answer the same as the case, run in the same modes.

    `words`: what it is, after "the same call" ("as ops.sum(x)"). `is_other_form`: it differs in
    call forms only, which the documentation makes equal. `referee`: of its first call.
    """

    words: str
    case: Case
    outcomes: Mapping[str, Outcome]
    referee: Referee | None
    is_other_form: bool


@dataclass(frozen=True)
class Comparison:
    """`referees`: one for each call of the plan.

    `lists_cpu(framework, node)`: whether the documentation of the form a node is written in lists
    CPU; None where it does not say. `leaves_cpu_out`: whether that of any call that the form is
    written with lists other platforms only. `promises_view`: whether it says that the result of a
    view operator shares storage with its operand, and `promises_write` whether it says that a call
    writes to its operand. `hung`: seconds without an answer, by mode, of a
    run alone that was given ten times what the mode is known to need. `counterparts`: other
    programs that must answer the same; run where a framework is doubted and nobody can testify.
    `versions`: of the frameworks, where known.
    """

    case: Case
    outcomes: Mapping[str, Outcome]
    referees: tuple[Referee, ...]
    lists_cpu: Callable[[str, Node], bool | None]
    promises_view: Callable[[str, Node], bool] = lambda framework, node: (
        framework == "torch" and node.op not in MAY_COPY
    )
    promises_write: Callable[[str, Node], bool] = lambda framework, node: True
    gradients: Gradients | None = None
    leaves_cpu_out: Callable[[str, Node], bool] = lambda framework, node: False
    hung: Mapping[str, float] = field(default_factory=dict)
    counterparts: tuple[Counterpart, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def modes(self) -> tuple[str, ...]:
        """The modes that are judged (referee modes are not)."""
        return tuple(mode for mode in self.outcomes if mode not in _REFEREE_MODES)

    @cached_property
    def ok(self) -> tuple[str, ...]:
        return tuple(mode for mode in self.modes if self.outcomes[mode].status is Status.OK)

    def answers(self, call: int) -> dict[str, CallAnswer]:
        """What the modes that answered returned from a call."""
        return {
            mode: self.outcomes[mode].calls[call]
            for mode in self.ok
            if call < len(self.outcomes[mode].calls)
        }

    def aligned(self, call: int) -> dict[str, CallAnswer]:
        """Those answers of which each output stands where the graph has it: a mode that returned
        another structure is compared in nothing else."""
        count = len(self.case.graph.outputs)
        return {
            mode: answer
            for mode, answer in self.answers(call).items()
            if len(answer.outputs) == count
        }

    @property
    def checks_state(self) -> bool:
        """Whether the plan asks to look at storage, inputs after the call and global state."""
        return bool({"state", "layout"}.intersection(self.case.plan.checks))

    @property
    def is_lone_call(self) -> bool:
        """Whether the program is one call, with the parts of its answer."""
        return len(self.case.graph.calls) == 1

    def frameworks(self) -> Iterator[str]:
        yield from dict.fromkeys(framework_of(mode) for mode in self.modes)

    def modes_of(self, framework: str) -> tuple[str, ...]:
        return tuple(mode for mode in self.modes if framework_of(mode) == framework)

    @cached_property
    def incomparable(self) -> frozenset[str]:
        """Values of which only dtype and shape are compared: random or undefined ones."""
        undefined = (undefined_values(self.case.graph, one) for one in self.referees)
        return self.random_values.union(*undefined)

    @cached_property
    def random_values(self) -> frozenset[str]:
        """Values that depend on a random operator."""
        return spread(
            self.case.graph,
            lambda node: any((spec := OPS.get(one.op)) and spec.random for one in node.within()),
        )

    @cached_property
    def draws_numbers(self) -> bool:
        """Whether an operator uses a generator, be it for values that are sorted afterwards."""
        specs = (OPS.get(one.op) for node in self.case.graph.nodes for one in node.within())
        return any(one and (one.random or "sorted-draw" in one.tags) for one in specs)

    def held_by_modules(self, framework: str) -> frozenset[str]:
        """Inputs that the set-up of a form gives to a module, which keeps a copy of them."""
        graph = self.case.graph
        held: set[str] = set()
        for node in graph.nodes:
            found = form_of(graph, node, framework)
            if found is not None and found[1].setup:
                slots = zip(OPS[node.op].operands, node.operands, strict=False)
                named = found[1].setup_placeholders
                held.update(one for slot, one in slots if one and slot.name in named)
        return frozenset(held)

    def unpromised_views(self, framework: str, name: str) -> tuple[str, ...]:
        """Operators that `name` depends on, whose result is written to or read as a view although
        the framework does not say that it is one."""
        graph = self.case.graph
        needed = self.needed_for(name)
        return tuple(
            node.op
            for node in graph.nodes
            if node.views
            and node.name in needed
            and graph.alias_root(node.views) in self._written
            and not self.promises_view(framework, node)
        )

    def excused_view(self, framework: str, name: str, wrong: Collection[str]) -> str:
        """An operator of which the framework does not promise that its result is a view, where that
        excuses the modes that are wrong: all of them, or PyTorch's, which says of such operators
        that nobody should depend on what they do. "" where there is none."""
        unpromised = self.unpromised_views(framework, name) if wrong else ()
        excuses = unpromised and (framework == "torch" or self.all_accused(framework, wrong))
        return unpromised[0] if excuses else ""

    def unpromised_writes(self, framework: str, name: str) -> tuple[str, ...]:
        """Operators whose write shows in `name` although the framework does not say that they write
        to their operand."""
        needed = self.needed_for(name)
        return tuple(
            node.op
            for node in self.case.graph.nodes
            if node.writes and node.name in needed and not self.promises_write(framework, node)
        )

    def unpromised_copies(self, name: str) -> tuple[str, ...]:
        """Operators that may answer with their operand, where it shows in `name` whether they do,
        since one of the two is written to."""
        graph = self.case.graph
        needed = self.needed_for(name)
        found = []
        for node in graph.nodes:
            operand = node.operands[0] if node.op in MAY_BE_OPERAND else None
            if operand is not None and graph.types[operand] == node.type:
                roots = {graph.alias_root(one) for one in (node.name, operand)}
                if roots & self._written and needed & {node.name, operand, *roots}:
                    found.append(node.op)
        return tuple(found)

    @cached_property
    def _written(self) -> frozenset[str]:
        """The values whose storage a node writes to."""
        graph = self.case.graph
        return frozenset(graph.alias_root(node.writes) for node in graph.nodes if node.writes)

    def needed_for(self, name: str) -> frozenset[str]:
        """The values that `name` depends on, and all that share storage with one of them."""
        needed = {name, *_ancestors(self.case.graph, name)}
        return frozenset(needed | _aliases(self.case.graph, needed))

    def all_accused(self, framework: str, wrong: Collection[str]) -> bool:
        """Whether no mode of the framework answered otherwise; one that returned another structure
        answered nothing."""
        return all(mode in wrong for mode in self.aligned(0) if framework_of(mode) == framework)

    def witnesses(self, mode: str, agreeing: set[str]) -> tuple[str, ...]:
        """Modes that side with the referee and can testify against `mode`: any mode of another
        framework, and for a compiled mode its own framework's baseline."""
        framework = framework_of(mode)
        return tuple(
            other
            for other in agreeing
            if framework_of(other) != framework
            or (other == BASELINE[framework] and mode != BASELINE[framework])
        )


def _ancestors(graph: Graph, name: str) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        node = graph.by_name.get(pending.pop())
        for used in node.uses if node else ():
            if used not in found:
                found.add(used)
                pending.append(used)
    return found


def _aliases(graph: Graph, names: set[str]) -> set[str]:
    roots = {graph.alias_root(name) for name in names}
    return {node.name for node in graph.nodes if graph.alias_root(node.name) in roots}


def framework_of(mode: str) -> str:
    return mode.split("-", 1)[0]
