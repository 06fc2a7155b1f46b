"""Localisation: the first tensor of a failing program that an accused mode has wrong.

Forward: values in execution order. Modes that record are looked at as they run; a compiled mode
cannot be, so its program is compiled once more with every value as an output, and where that makes
the failure go away, prefixes of the program are. Backward: gradients of intermediate values, from
the outputs towards the inputs, each by a program that begins with the value in question. Long
programs are halved instead of tried place by place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from engine.errors import ConstraintViolated, InvalidGraph
from engine.executors.modes import mode_named
from engine.executors.outcome import Answer, Array, Failure, Outcome, Status
from engine.finding import Localised, Weighed
from engine.ir.case import Case, Plan
from engine.ir.check import check
from engine.ir.digest import stored_blob
from engine.ir.graph import Graph, Input, Node
from engine.ir.types import Dense, is_float
from engine.ir.window import writers_of
from engine.oracles.calls import is_same
from engine.oracles.comparison import Comparison
from engine.oracles.keys import normalise
from engine.oracles.numeric import gap
from engine.oracles.referee import Referee
from engine.oracles.verdict import Divergence, Kind
from engine.trial import Bench, Trial
from engine.weighing import weighed_gradient

__all__ = ["LARGEST", "localised", "until"]

# As many places are tried one after another; more are halved, since each costs a compilation.
LARGEST = 8
_GRADIENTS = (Kind.GRADIENT, Kind.GRADIENT_NONFINITE)
_STATE = (Kind.INPUT_CHANGED, Kind.WRITE_LOST)
_PROMISES = (Kind.LAYOUT, Kind.MOVED)
_COUNTS = 1.0
_DOUBLE = "torch-eager-f64"
_Place = TypeVar("_Place")


def localised(
    trial: Trial, divergence: Divergence, bench: Bench, blobs: Mapping[str, Array]
) -> tuple[Localised, ...]:
    """For each accused mode where it first goes wrong, forward and backward.

    `trial` is of the program in question: a failing window as it was found, or what is left of it.
    """
    search = _Search(trial, divergence, bench, blobs)
    found = []
    for mode in divergence.modes:
        for one in (search.forward(mode), search.backward(mode)):
            if one is not None:
                found.append(one)
    return tuple(found)


@dataclass(frozen=True)
class _Search:
    trial: Trial
    divergence: Divergence
    bench: Bench
    blobs: Mapping[str, Array]

    @property
    def case(self) -> Case:
        return self.trial.case

    @property
    def graph(self) -> Graph:
        return self.case.graph

    # ---- forward
    def forward(self, mode: str) -> Localised | None:
        outcome = self.trial.outcomes[mode]
        if outcome.failure is not None:
            raised = self._raised("forward", mode, outcome.failure)
            return self._misfed(mode, raised) or raised
        if self.divergence.kind in _PROMISES:
            return self._promised(mode)
        if self.divergence.kind in _STATE and self.divergence.value in self.graph.input_by_name:
            return self._written(mode)
        if outcome.status is not Status.OK or not self.trial.comparison.referees:
            return None
        if self.divergence.kind is Kind.STRUCTURE:
            return self._restructured(mode)
        if len(self.graph.nodes) == 1:
            return self._first_output(mode, self.trial.comparison, "the only operator")
        if mode_named(mode).records and self._is_plain:
            return self._recorded(mode)
        found = self._returned(mode)
        # Where the gradient alone is wrong, shorter programs would tell no more.
        return found if found or self.divergence.kind in _GRADIENTS else self._prefix(mode)

    @property
    def _is_plain(self) -> bool:
        """Whether a recording of the first call shows all: later calls and storage that is written
        to after it was noted do not."""
        return self.divergence.call == 0 and not any(node.writes for node in self.graph.nodes)

    def _recorded(self, mode: str) -> Localised | None:
        outcome = self.bench.pool.run(self.case, mode, blobs=self.blobs, record="values")
        for node in self.graph.nodes:
            answer = outcome.recorded.get(node.name)
            said = _wrong(self.trial.comparison, 0, node, answer) if answer else ""
            if said:
                return self._at_fault(mode, node, said, outcome.recorded)
        return self._first_output(mode, self.trial.comparison, "not while values are recorded")

    def _at_fault(
        self, mode: str, node: Node, said: str, recorded: Mapping[str, Answer]
    ) -> Localised:
        """The first wrong value; or, where that is right for what its call was given, the one
        before it that is furthest off the answer to what its own call was given."""
        first = Localised("forward", mode, node.name, _made_by(self.graph, node), said)
        needed = self.trial.comparison.needed_for(node.name)
        before = [
            one for one in self.graph.nodes[: self.graph.position[node.name]] if one.name in needed
        ]
        own = self._own_error(node, recorded)
        if not before or len(before) > LARGEST or own >= _COUNTS:
            return first
        errors = {one.name: self._own_error(one, recorded) for one in before}
        cause = max(before, key=lambda one: errors[one.name])
        if errors[cause.name] <= own:
            return first
        off = f"is off the answer to what it was given: {_times(errors[cause.name])}"
        words = f"{off}; {node.name} {said}"
        return Localised("forward", mode, cause.name, _made_by(self.graph, cause), words)

    def _own_error(self, node: Node, recorded: Mapping[str, Answer]) -> float:
        """How far a value is off float64's answer to what its call was given, in units of what is
        allowed; 0 where nobody can tell."""
        given = {name: self._seen(name, recorded) for name in node.uses}
        answer = recorded.get(node.name)
        if answer is None or answer.array is None or not isinstance(node.type, Dense):
            return 0.0
        values = {name: array for name, array in given.items() if array is not None}
        if len(values) < len(given) or node.writes:
            return 0.0
        inputs = tuple(
            Input(name, Dense(of.dtype, array.shape))
            for name, array in values.items()
            if isinstance(of := self.graph.types[name], Dense)
        )
        alone = Graph(self.graph.name, inputs, (replace(node, views=None),), (node.name,))
        referee = Referee(replace(self.case, graph=alone, plan=Plan()), values)
        found = None
        if len(inputs) == len(values) and not referee.refusal:
            found = gap(answer.array, node.type.dtype, referee, node.name)
        if found is None:
            return 0.0
        return np.inf if found.nonfinite else found.units

    def _seen(self, name: str, recorded: Mapping[str, Answer]) -> Array | None:
        """What a call of this mode was given under a name."""
        if name in self.graph.input_by_name:
            return self.trial.comparison.referees[0].values[name]
        return recorded[name].array if name in recorded else None

    def _returned(self, mode: str) -> Localised | None:
        """The program with every value as an output."""
        names = tuple(dict.fromkeys((*self.graph.outputs, *_comparable(self.trial))))
        found = self._run(_with_outputs(self.case, names), mode)
        return None if found is None else self._first_output(mode, found, "all values returned")

    def _prefix(self, mode: str) -> Localised | None:
        """The shortest beginning of the program that shows a wrong value."""
        note = "only while no other value is returned"
        comparable = set(_comparable(self.trial))
        places = [at for at, node in enumerate(self.graph.nodes[:-1]) if node.name in comparable]

        def ends_at(place: int) -> Localised | None:
            shorter = self._run(until(self.case, place), mode)
            return None if shorter is None else self._first_output(mode, shorter, note)

        found = _earliest(places, ends_at)
        return found or self._first_output(mode, self.trial.comparison, note)

    def _first_output(self, mode: str, comparison: Comparison, how: str) -> Localised | None:
        """The first wrong one, in execution order, of what a program returned."""
        graph = comparison.case.graph
        for call, answers in enumerate(comparison.outcomes[mode].calls):
            given = dict(zip(graph.outputs, answers.outputs, strict=False))
            for node in graph.nodes:
                answer = given.get(node.name)
                said = _wrong(comparison, call, node, answer) if answer else ""
                if said:
                    later = f" in call {call}" if call else ""
                    said += f"{later}{self._writer(node)} ({how})"
                    return Localised("forward", mode, node.name, _made_by(self.graph, node), said)
        return self._first_other(mode, comparison, how)

    def _first_other(self, mode: str, comparison: Comparison, how: str) -> Localised | None:
        """The first value that is another on a repeated call, where float64 cannot tell which of
        them is wrong."""
        if self.divergence.kind is not Kind.SECOND_CALL:
            return None
        graph, calls = comparison.case.graph, comparison.outcomes[mode].calls
        first, again = calls[0], calls[self.divergence.call]
        for node in graph.nodes:
            if node.name in graph.outputs:
                place = graph.outputs.index(node.name)
                if not is_same(first, again, place):
                    said = f"is another in call {self.divergence.call} than in call 0 ({how})"
                    return Localised("forward", mode, node.name, _made_by(self.graph, node), said)
        return None

    def _restructured(self, mode: str) -> Localised | None:
        """The first call whose result, returned alone, is more or less than one value."""
        return _earliest(_comparable(self.trial), partial(self._several, mode))

    def _several(self, mode: str, name: str) -> Localised | None:
        outcome = self._outcome(until(self.case, self.graph.position[name]), mode, self.blobs)
        if outcome is None or not outcome.calls or len(outcome.calls[0].outputs) == 1:
            return None
        said = f"is {len(outcome.calls[0].outputs)} values where one is promised"
        node = self.graph.by_name[name]
        return Localised("forward", mode, name, _made_by(self.graph, node), said)

    def _misfed(self, mode: str, raised: Localised | None) -> Localised | None:
        """An operand of the call that raises, which is no single value in this mode: it is the call
        that made it that is wrong."""
        made = self.graph.by_name
        node = made.get(raised.value) if raised else None
        operands = [
            one
            for one in (node.uses if node else ())
            if one in made and isinstance(made[one].type, Dense)
        ]
        return next((said for one in operands if (said := self._several(mode, one))), None)

    def _writer(self, node: Node) -> str:
        """Who writes to the storage of a value that lacks a write."""
        if self.divergence.kind is not Kind.WRITE_LOST:
            return ""
        writers = [one.name for one in writers_of(self.graph, node.name)]
        return f"; written to by {', '.join(writers)}" if writers else ""

    def _written(self, mode: str) -> Localised:
        """An input that holds the wrong thing after the call, and who writes to it."""
        name = self.divergence.value
        writers = writers_of(self.graph, name)
        readers = [self.graph.by_name[one] for one in self.graph.users[name]]
        suspect = (writers or readers or list(self.graph.nodes))[-1]
        said = (
            f"the input {name} does not hold what {suspect.name} wrote"
            if writers
            else f"the input {name} is changed although nothing writes to it"
        )
        return Localised("forward", mode, name, suspect.op, said)

    def _promised(self, mode: str) -> Localised | None:
        """What has the wrong layout, or the first call after which global state is another."""
        calls = self.graph.calls
        node = self.graph.by_name.get(self.divergence.value)
        if node is None and len(calls) == 1:
            node = calls[0]
        if node is None:
            return _earliest(_comparable(self.trial), partial(self._moves, mode))
        own = f"{mode}: "
        said = next((one for one in self.divergence.evidence if one.startswith(own)), "")
        words = f"{self.divergence.kind}: {self.divergence.message}"
        detail = "; ".join(part for part in (words, said.removeprefix(own)) if part)
        return Localised("forward", mode, node.name, _made_by(self.graph, node), detail)

    def _moves(self, mode: str, name: str) -> Localised | None:
        """Whether the program up to a value moves what the whole of it does."""
        outcome = self._outcome(until(self.case, self.graph.position[name]), mode, self.blobs)
        moved = set(outcome.moved) if outcome else set()
        if not moved.intersection(self.divergence.message.split(", ")):
            return None
        node = self.graph.by_name[name]
        said = f"{self.divergence.kind}: {self.divergence.message}"
        return Localised("forward", mode, name, _made_by(self.graph, node), said)

    # ---- backward
    def backward(self, mode: str) -> Localised | None:
        outcome = self.trial.outcomes[mode]
        if outcome.gradient_failure is not None:
            return self._raised("backward", mode, outcome.gradient_failure)
        if self.divergence.kind not in _GRADIENTS:
            return None

        def begins_with(name: str) -> Localised | None:
            fed = self._from(name)
            found = None if fed is None else self._run(fed[0], mode, fed[1])
            row = None if found is None else _gradient_of(found, mode, name)
            return None if row is None else self._through(mode, row)

        found = _earliest(tuple(reversed(_intermediate(self.graph))), begins_with)
        if found is not None:
            return found
        for given in reversed(self.graph.inputs):
            row = _gradient_of(self.trial.comparison, mode, given.name)
            if row is not None:
                return self._through(mode, row)
        return None

    def _through(self, mode: str, row: Weighed) -> Localised:
        readers = [self.graph.by_name[one] for one in self.graph.users.get(row.name, ())]
        op = readers[-1].op if readers else ""
        said = f"the gradient of {row.name} through {op} is {row.got}, float64 has {row.exact}"
        place = f" at {row.at}" if row.at else ""
        return Localised("backward", mode, row.name, op, f"{said}{place}: {_times(row.ratio)}")

    def _from(self, name: str) -> tuple[Case, dict[str, Array]] | None:
        """The program that begins with a value, which it is given as an input."""
        place = self.graph.position[name]
        nodes = self.graph.nodes[place + 1 :]
        made = {node.name for node in nodes}
        entering = dict.fromkeys(
            (name, *(one for node in nodes for one in node.uses if one not in made))
        )
        blobs = dict(self.blobs)
        inputs = []
        for one in entering:
            given = self.graph.input_by_name.get(one) or self._fed(one, blobs)
            if given is None:
                return None
            inputs.append(replace(given, requires_grad=one == name))
        kept = [at for at, one in enumerate(self.graph.outputs) if one in made]
        loss = tuple(kept.index(at) for at in self.case.plan.loss_outputs if at in kept)
        if not kept or (self.case.plan.loss_outputs and not loss):
            return None
        outputs = tuple(self.graph.outputs[at] for at in kept)
        graph = Graph(self.graph.name, tuple(inputs), nodes, outputs)
        plan = replace(self.case.plan, loss_outputs=loss)
        return replace(self.case, graph=graph, plan=plan), blobs

    def _fed(self, name: str, blobs: dict[str, Array]) -> Input | None:
        """An input with the value that NumPy computes in the declared dtypes."""
        referees, of = self.trial.comparison.referees, self.graph.types[name]
        array = referees[0].working.get(name) if referees else None
        if array is None or not isinstance(of, Dense):
            return None
        return Input(name, Dense(of.dtype, array.shape), init=stored_blob(array, blobs))

    # ---- shared
    def _raised(self, direction: str, mode: str, failure: Failure) -> Localised | None:
        """The call that failed; where nobody says which, what fails first when it is the last one
        (backward: what still fails when it is the first)."""
        node = self.graph.by_name.get(failure.node)
        calls = self.graph.calls
        if node is None and len(calls) == 1:
            node = calls[0]
        if node is not None:
            return self._failing(direction, mode, failure, node)
        if self.trial.outcomes[mode].status is Status.TIMEOUT:
            return None  # each further run would take as long
        said = normalise(failure.type, failure.message)

        def ends_at(name: str) -> Localised | None:
            shorter = until(self.case, self.graph.position[name])
            outcome = self._outcome(shorter, mode, self.blobs)
            found = outcome.failure if outcome else None
            if found is None or normalise(found.type, found.message) != said:
                return None
            return self._failing(direction, mode, found, self.graph.by_name[name])

        def begins_with(name: str) -> Localised | None:
            fed = self._from(name)
            outcome = self._outcome(fed[0], mode, fed[1]) if fed else None
            found = outcome.gradient_failure if outcome else None
            if found is None or normalise(found.type, found.message) != said:
                return None
            reader = self.graph.by_name[self.graph.users[name][-1]]
            return self._failing(direction, mode, found, reader)

        if direction == "forward":
            return _earliest(_comparable(self.trial), ends_at)
        found = _earliest(tuple(reversed(_intermediate(self.graph))), begins_with)
        first = {
            reader
            for given in self.graph.inputs
            if given.requires_grad
            for reader in self.graph.users.get(given.name, ())
        }
        if found is None and len(first) == 1:  # what no later beginning shows
            return self._failing(direction, mode, failure, self.graph.by_name[first.pop()])
        return found

    def _failing(self, direction: str, mode: str, failure: Failure, node: Node) -> Localised:
        lines = [one.strip() for one in failure.message.splitlines() if one.strip(" -")]
        said = lines[0] if lines else ""
        if self.trial.outcomes[mode].status not in (Status.DIED, Status.TIMEOUT):
            said = f"raises {failure.type} in {failure.phase}: {said}"
        return Localised(direction, mode, node.name, _made_by(self.graph, node), said[:300])

    def _outcome(self, case: Case, mode: str, blobs: Mapping[str, Array]) -> Outcome | None:
        """How a changed program ends; None where it is none."""
        try:
            check(case)
            return self.bench.pool.run(case, mode, blobs=blobs)
        except (ConstraintViolated, InvalidGraph):
            return None

    def _run(
        self, case: Case, mode: str, blobs: Mapping[str, Array] | None = None
    ) -> Comparison | None:
        """What one mode answers to a changed program; None where it gives no answer."""
        given, pool = self.blobs if blobs is None else blobs, self.bench.pool
        try:
            check(case)
            outcomes = {mode: pool.run(case, mode, blobs=given)}
            if case.plan.gradient != "none":
                outcomes[_DOUBLE] = pool.run(case, _DOUBLE, blobs=given)
            comparison = self.bench.compare(case, given, outcomes)
        except (ConstraintViolated, InvalidGraph):
            return None
        answered = outcomes[mode].status is Status.OK and comparison.referees
        return comparison if answered else None


def _earliest(
    places: Sequence[_Place], ask: Callable[[_Place], Localised | None]
) -> Localised | None:
    """What is said of the first place that is wrong. Where there are many, they are halved: what
    follows a wrong place is taken to be wrong."""
    if len(places) <= LARGEST:
        return next((said for one in places if (said := ask(one)) is not None), None)
    found, low, high = None, 0, len(places)
    while low < high:
        middle = (low + high) // 2
        said = ask(places[middle])
        found, low, high = (found, middle + 1, high) if said is None else (said, low, middle)
    return found


def _made_by(graph: Graph, node: Node) -> str:
    """The operator that made a value; that of the tuple, for an item of one."""
    whole = graph.by_name.get(node.uses[0]) if node.op == "item" else None
    return whole.op if whole is not None else node.op


# ------------------------------------------------------------------------------------- programs
def _comparable(trial: Trial) -> tuple[str, ...]:
    """Values that a program may return and that are compared: no tuples, no consumed versions."""
    graph = trial.case.graph
    consumed = {node.writes for node in graph.nodes if node.writes}
    return tuple(
        node.name
        for node in graph.nodes
        if isinstance(node.type, Dense)
        and node.name not in consumed
        and node.name not in trial.comparison.incomparable
    )


def _with_outputs(case: Case, outputs: tuple[str, ...]) -> Case:
    """The case with these outputs; the loss still uses those that it used before."""
    graph, plan = case.graph, case.plan
    used = plan.loss_outputs or tuple(
        at
        for at, name in enumerate(graph.outputs)
        if isinstance(of := graph.types[name], Dense) and is_float(of.dtype)
    )
    loss = tuple(outputs.index(name) for at in used if (name := graph.outputs[at]) in outputs)
    return replace(
        case,
        graph=replace(graph, outputs=outputs),
        plan=replace(plan, loss_outputs=loss, gradient=plan.gradient if loss else "none"),
    )


def until(case: Case, place: int) -> Case:
    """The program up to a node, which is its only output."""
    nodes = case.graph.nodes[: place + 1]
    cut = replace(case, plan=replace(case.plan, gradient="none", loss_outputs=()))
    return cut.with_graph(replace(case.graph, nodes=nodes, outputs=(nodes[-1].name,)))


def _intermediate(graph: Graph) -> tuple[str, ...]:
    """Values with a gradient between the inputs and the outputs; none where storage is written."""
    if any(node.writes for node in graph.nodes):
        return ()
    return tuple(
        node.name
        for node in graph.nodes
        if isinstance(node.type, Dense)
        and is_float(node.type.dtype)
        and graph.users[node.name]
        and node.name not in graph.outputs
    )


# -------------------------------------------------------------------------------------- answers
def _wrong(comparison: Comparison, call: int, node: Node, answer: Answer) -> str:
    """What is wrong with one value, "" where nothing is or nobody can tell."""
    if call >= len(comparison.referees) or node.name in comparison.incomparable:
        return ""
    referee = comparison.referees[call]
    of = referee.case.graph.types[node.name]
    if not isinstance(of, Dense):
        return ""
    if answer.dtype != of.dtype:
        return f"has dtype {answer.dtype}, {of.dtype} is promised"
    shape = referee.exact[node.name].shape
    if answer.shape != shape:
        return f"has shape {answer.shape}, {shape} is promised"
    found = None if answer.array is None else gap(answer.array, of.dtype, referee, node.name)
    if found is None or answer.array is None or not found.counts:
        return ""
    at = found.worst[: answer.array.ndim]
    got, exact = str(answer.array[at]), str(np.asarray(referee.exact[node.name])[at])
    place = f" at {at}" if at else ""
    if found.nonfinite:
        return f"is {got}{place}, float64 has {exact}; NaN or Inf wrong in {found.nonfinite}"
    return f"is {got}{place}, float64 has {exact}: {_times(found.units)}"


def _times(ratio: float) -> str:
    return "a wrong NaN or Inf" if np.isinf(ratio) else f"{ratio:.3g} times what is allowed there"


def _gradient_of(comparison: Comparison, mode: str, name: str) -> Weighed | None:
    """The gradient of a value in a mode, where it counts as wrong."""
    row = weighed_gradient(comparison, mode, name) if mode in comparison.ok else None
    return row if row is not None and row.ratio > _COUNTS else None
