"""Applying a mutator at a site: edit, types of the dirty cone, structure, constraints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.constraints import BUDGET, Budget, Violation, settle, violations
from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.graph import Graph, Node
from engine.mutators.spec import Effect, Mutator, Site
from engine.tfg import Fact

__all__ = ["Mutant", "Refused", "apply", "touched"]


@dataclass(frozen=True)
class Mutant:
    """A mutated case. `changed`: names of the nodes that were added or edited, in order."""

    case: Case
    changed: tuple[str, ...]
    effect: Effect
    mutator: str
    variant: str
    site: Site


def apply(
    case: Case,
    mutator: Mutator,
    variant: str,
    site: Site,
    rng: np.random.Generator,
    *,
    facts: Mapping[str, Fact] | None = None,
    off: Collection[str] = (),
    seed_nodes: int | None = None,
    budget: Budget = BUDGET,
) -> Mutant:
    """The mutant of a candidate, or `ConstraintViolated` with the first reason against it.

    `facts`: a recording of the parent, for constraints on values. `off`: kinds of constraints that
    an ablation leaves out; a node whose operator refuses its operands then keeps its old type.
    """
    edited = mutator.variants[variant](case, site, rng)
    changed = touched(case.graph, edited.graph)
    if not changed and edited.plan == case.plan and _same_frame(case.graph, edited.graph):
        raise ConstraintViolated(f"{mutator.name}: the edit changes nothing here")
    graph, refused = settle(edited.graph, changed, case.graph)
    mutant = replace(edited, graph=graph, claim=mutator.effect.value)
    broken = next(
        violations(
            case,
            mutant,
            changed,
            facts=facts,
            refused=refused,
            off=off,
            aliasing=mutator.is_aliasing,
            nasty=mutator.is_nasty,
            seed_nodes=seed_nodes,
            budget=budget,
        ),
        None,
    )
    if broken is not None:
        raise Refused(broken)
    check(mutant)
    return Mutant(mutant, changed, mutator.effect, mutator.name, variant, site)


class Refused(ConstraintViolated):
    """A constraint refuses the mutant; `violation` says which."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


def touched(parent: Graph, mutant: Graph) -> tuple[str, ...]:
    """Nodes of the mutant that the parent lacks or has otherwise, types apart."""
    before = parent.by_name
    found = []
    for node in mutant.nodes:
        old = before.get(node.name)
        if old is not node and (old is None or not _is_same(old, node)):
            found.append(node.name)
    return tuple(found)


def _is_same(old: Node, node: Node) -> bool:
    """Equal but for the type; 1 and 1.0 are equal in Python and not in a call."""
    return replace(old, type=node.type) == node and repr(old.attrs) == repr(node.attrs)


def _same_frame(parent: Graph, mutant: Graph) -> bool:
    return (
        parent.outputs == mutant.outputs
        and parent.inputs == mutant.inputs
        and len(parent.nodes) == len(mutant.nodes)
    )
