"""A case: a graph and the plan by which it is run. One text file; what every command takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.ir.graph import Graph, Input

__all__ = ["CHECKS", "GRADIENTS", "Call", "Case", "Plan"]

GRADIENTS = ("none", "reverse", "forward", "second")
CHECKS = ("values", "gradients", "state", "layout")


@dataclass(frozen=True)
class Call:
    """One call. `inputs` replace graph inputs of the same name; shape and dtype may differ."""

    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What is run and what is looked at.

    `calls` in order on the same compiled function; `gradient` is of the first call, with respect to
    every input that requires a gradient; `loss_outputs` are the positions of the outputs that the
    loss uses (empty: all floating ones), so that an output can be dead.
    """

    calls: tuple[Call, ...] = (Call(),)
    gradient: str = "none"
    checks: tuple[str, ...] = ("values", "state")
    loss_outputs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    """A graph, its plan, and the claim of the mutation (the value of an `Effect`, or "")."""

    graph: Graph
    plan: Plan = Plan()
    claim: str = ""

    def with_graph(self, graph: Graph) -> Case:
        return replace(self, graph=graph)

    def inputs_of(self, call: Call) -> tuple[Input, ...]:
        """All inputs of one of the plan's calls, in the order of the graph's."""
        replaced = {given.name: given for given in call.inputs}
        return tuple(replaced.get(given.name, given) for given in self.graph.inputs)
