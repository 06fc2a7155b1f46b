"""The chain: the graph that is mutated next, what was recorded of it, and windows onto mutants.

A window is fed only with values that the mutation left alone, and after a mutation only what it
made stale is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np

from engine.errors import ConstraintViolated, EngineError
from engine.executors.lowering import has_form
from engine.executors.modes import MODES
from engine.executors.outcome import Answer, Array, Outcome, Status
from engine.executors.pool import Pool
from engine.finding import Step
from engine.ir.case import Call, Case, Plan
from engine.ir.digest import stored_blob
from engine.ir.graph import Graph, Input, StoredBlob
from engine.ir.types import Dense
from engine.ir.window import cut, neighbourhood, reached
from engine.mutators.spec import Site
from engine.ops.spec import FRAMEWORKS
from engine.tfg import FlowGraph

__all__ = ["Chain", "IllegalMutant", "closed", "stale"]

_RecordedCall: TypeAlias = "Callable[[int], Mapping[str, Answer]]"
# Nodes that stay round a mutation, however many it made, so that a picture shows where it is.
_CONTEXT = 5


class IllegalMutant(EngineError):
    """A whole graph does not run in eager mode."""


@dataclass(frozen=True)
class Chain:
    """A graph with the value and the facts of every edge, and the mutations that led to it.

    `steps`: the newest of those mutations as windows, see `engine.steps`. `blobs`: those of the
    seed, where it is a file that has some. `known`: the flow graph, where its parent's was updated.
    """

    case: Case
    values: Mapping[str, Array]
    facts: Mapping[str, Answer]
    lineage: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    blobs: Mapping[str, Array] = field(default_factory=dict)
    known: FlowGraph | None = field(default=None, compare=False, repr=False)

    @cached_property
    def flow(self) -> FlowGraph:
        """The Tensor Flow Graph: what was worked out of the parent's is kept outside the cone."""
        return self.known or FlowGraph(self.case.graph, self.facts)

    def flow_of(self, case: Case, changed: tuple[str, ...]) -> FlowGraph:
        """The flow graph of a mutant that was not run: of its cone the types alone are known."""
        dirty = stale(self.case.graph, case.graph, changed)
        return self.flow.update(case.graph, {}, dirty)

    @classmethod
    def profiled(
        cls,
        case: Case,
        lineage: tuple[str, ...],
        pool: Pool,
        *,
        steps: tuple[Step, ...] = (),
        blobs: Mapping[str, Array] | None = None,
    ) -> Chain:
        """Run the whole graph in eager mode with recording on; `IllegalMutant` where it raises."""
        blobs = blobs or {}
        facts = _recorded(case, blobs, pool)
        return cls(case, _arrays(facts), facts, lineage, steps, blobs)

    def advanced(
        self,
        case: Case,
        changed: tuple[str, ...],
        lineage: tuple[str, ...],
        pool: Pool,
        *,
        steps: tuple[Step, ...] = (),
    ) -> Chain:
        """The chain after a mutation: only what the mutation made stale is run again."""
        graph = case.graph
        dirty = stale(self.case.graph, graph, changed)
        if not dirty or len(dirty) == len(graph.nodes):
            return Chain.profiled(case, lineage, pool, steps=steps, blobs=self.blobs)
        cone, blobs = cut(case, dirty, self.values)
        fresh = _recorded(cone, {**self.blobs, **blobs}, pool)
        clean = graph.types.keys() - cone.graph.by_name.keys()
        facts = {name: one for name, one in self.facts.items() if name in clean}
        made = cone.graph.by_name.keys() | graph.input_by_name.keys()
        facts |= {name: one for name, one in fresh.items() if name in made}
        flow = self.flow.update(
            graph, {name: facts[name] for name in dirty if name in facts}, dirty
        )
        return Chain(case, _arrays(facts), facts, lineage, steps, self.blobs, flow)

    def windowed(
        self,
        case: Case,
        changed: tuple[str, ...],
        site: Site,
        pool: Pool,
        *,
        limit: int,
        modes: Sequence[str],
    ) -> tuple[Case, dict[str, Array], Graph]:
        """The window round a mutation, the same place in the parent, and the blobs of both.

        `limit`: about how many nodes; `modes`: those that it will run in. What later calls with
        other inputs feed the window is recorded by `pool`. `ConstraintViolated` where there is no
        window.
        """
        graph, parent = case.graph, self.case.graph
        centre = changed or tuple(
            name for name in (*site.nodes, site.consumer, site.value) if name in graph.by_name
        )
        if not centre:
            centre = graph.users.get(site.value, ())
        if not centre:
            raise ConstraintViolated("the mutation touches no node")
        dirty = stale(parent, graph, changed)
        fits = _writable(graph, modes)
        recorded = cache(lambda place: _recorded_call(case, place, self.blobs, pool))
        for middle in (centre, (*changed, *_readers_of_later_inputs(case))):
            room = max(limit, len(middle) + _CONTEXT)
            names = closed(graph, middle, dirty, limit=room, fits=fits) if middle else ()
            found = self._window(case, names, recorded) if names else None
            if found is not None:
                break
        else:
            raise ConstraintViolated("a later call changes nothing that enters the window")
        window, blobs = found
        around = neighbourhood(
            parent,
            [one for one in (*names, *site.nodes) if one in parent.by_name],
            limit=max(len(names), 2),
        )
        if not around:
            return window, {**self._stored(window.graph), **blobs}, window.graph
        before, entering = cut(self.case, around, self.values)
        stored = self._stored(window.graph) | self._stored(before.graph)
        return window, {**stored, **entering, **blobs}, before.graph

    def _window(
        self, case: Case, names: tuple[str, ...], recorded: _RecordedCall
    ) -> tuple[Case, dict[str, Array]] | None:
        """A window and its blobs; None where a later call of the plan changes nothing in it.

        Other inputs of the model are other values at the window's edges: `recorded` gives what each
        value is in a call of the plan.
        """
        window, blobs = cut(case, names, self.values)
        graph = window.graph
        calls: list[Call] = []
        for place, call in enumerate(case.plan.calls):
            given = _entering(case, place, graph, blobs, recorded) if call.inputs else ()
            if call.inputs and not given:
                return None
            calls.append(Call(given))
        return replace(window, plan=replace(_window_plan(case, graph), calls=tuple(calls))), blobs

    def _stored(self, graph: Graph) -> dict[str, Array]:
        """The blobs of the seed that a graph's inputs refer to."""
        digests = (one.init.digest for one in graph.inputs if isinstance(one.init, StoredBlob))
        return {digest: self.blobs[digest] for digest in digests if digest in self.blobs}


def _readers_of_later_inputs(case: Case) -> tuple[str, ...]:
    replaced = {one.name for call in case.plan.calls for one in call.inputs}
    return tuple(node.name for node in case.graph.nodes if replaced.intersection(node.uses))


def _entering(
    case: Case, place: int, window: Graph, blobs: dict[str, Array], recorded: _RecordedCall
) -> tuple[Input, ...]:
    """What a later call feeds a window otherwise than the first one does."""
    replaced = {one.name: one for one in case.plan.calls[place].inputs}
    given = (
        _fed(one, recorded(place)[one.name], blobs)
        if one.name in case.graph.by_name
        else replaced.get(one.name, one)
        for one in window.inputs
    )
    return tuple(one for one in given if one != window.input_by_name[one.name])


def _recorded_call(
    case: Case, place: int, blobs: Mapping[str, Array], pool: Pool
) -> Mapping[str, Answer]:
    """Every value of the case in one of the plan's calls."""
    try:
        return _recorded(replace(case, plan=Plan(calls=(case.plan.calls[place],))), blobs, pool)
    except IllegalMutant as error:
        raise ConstraintViolated(f"a later call: {error}") from error


def _fed(given: Input, recorded: Answer, blobs: dict[str, Array]) -> Input:
    """An input of a window with what a later call feeds it."""
    init = stored_blob(np.asarray(recorded.array, order="C"), blobs)
    return replace(given, type=Dense(recorded.dtype, recorded.shape), init=init)


def _recorded(case: Case, blobs: Mapping[str, Array], pool: Pool) -> Mapping[str, Answer]:
    outcome = pool.run(case, "torch-eager", blobs=blobs, record="values")
    if outcome.status is not Status.OK:
        raise IllegalMutant(_why(outcome))
    return outcome.recorded


def _writable(graph: Graph, modes: Sequence[str]) -> Callable[[str], bool]:
    """Whether a node may stand in windows of other mutations: all frameworks can write it.

    Otherwise after some rounds most of a chain could only be run on the other framework.
    """
    frameworks = {MODES[mode].framework for mode in modes} & set(FRAMEWORKS)
    return lambda name: all(
        has_form(graph.by_name[name], graph.types, framework) for framework in frameworks
    )


def _window_plan(case: Case, window: Graph) -> Plan:
    """The plan for a window: outputs that the loss of the whole leaves out stay out of it."""
    plan = case.plan
    checks = tuple(dict.fromkeys((*plan.checks, "values", "state")))
    if not plan.loss_outputs:
        return replace(plan, checks=checks)
    outputs = case.graph.outputs
    dead = {name for place, name in enumerate(outputs) if place not in plan.loss_outputs}
    loss = tuple(place for place, name in enumerate(window.outputs) if name not in dead)
    if not loss:
        # No positions would mean all of them.
        return replace(plan, checks=checks, gradient="none", loss_outputs=())
    return replace(plan, checks=checks, loss_outputs=loss)


def stale(parent: Graph, graph: Graph, changed: tuple[str, ...]) -> set[str]:
    """Nodes whose recorded values no longer hold after the mutation, or that are new."""
    before = parent.input_by_name
    found = {one.name for one in graph.inputs if before.get(one.name) != one}
    found.update(changed)
    found.update(one.name for one in graph.nodes if one.name not in parent.by_name)
    # Storage that a changed node wrote to, or writes to now, is stale for whoever reads it.
    written = {
        parent.alias_root(node.writes)
        for node in parent.nodes
        if node.writes and (node.name in found or node.name not in graph.by_name)
    }
    for node in graph.nodes:
        if found.intersection(node.uses) or (
            written and any(graph.alias_root(one) in written for one in node.uses)
        ):
            found.add(node.name)
        if node.writes and node.name in found:
            written.add(graph.alias_root(node.writes))
    return {name for name in found if name in graph.by_name}


def closed(
    graph: Graph,
    centre: tuple[str, ...],
    dirty: set[str],
    *,
    limit: int,
    fits: Callable[[str], bool],
) -> tuple[str, ...]:
    """A window round the centre that is fed only with values that the mutation left alone."""
    needed = set(reached(graph, centre, dirty))
    around = neighbourhood(graph, centre, limit=limit, fits=fits)
    held = needed.union(around)
    # A neighbour that needs more than the window holds stays out of it.
    names = needed.union(
        one for one in around if all(name in held for name in reached(graph, (one,), dirty))
    )
    return tuple(node.name for node in graph.nodes if node.name in names)


def _arrays(facts: Mapping[str, Answer]) -> dict[str, Array]:
    return {name: answer.array for name, answer in facts.items() if answer.array is not None}


def _why(outcome: Outcome) -> str:
    failure = outcome.failure
    said = (
        f"{failure.type}: {failure.message.splitlines()[0]}" if failure and failure.message else ""
    )
    return f"the whole graph: {outcome.mode} {outcome.status.value} {said}".strip()
