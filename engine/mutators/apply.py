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
from engine.mutators.edits import Unchecked
from engine.mutators.spec import Effect, Mutator, Site
from engine.tfg import Fact

__all__ = ["Mutant", "Proposal", "Refused", "apply", "propose", "touched"]


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
    mutant, changed, refused = _edited(case, mutator, variant, site, rng)
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


@dataclass(frozen=True)
class Proposal:
    """A mutant from before the filter. `broken`: every constraint that it breaks.

    `doubtful`: nodes whose operator refuses them, or whose type is another than in the parent.
    """

    mutant: Mutant
    broken: tuple[Violation, ...]
    doubtful: tuple[str, ...]


def propose(
    case: Case,
    mutator: Mutator,
    variant: str,
    site: Site,
    rng: np.random.Generator,
    *,
    facts: Mapping[str, Fact] | None = None,
) -> Proposal:
    """The mutant that a candidate gives where nothing is checked, and what the filter says of it.

    `ConstraintViolated` where the edit has no meaning at the site at all.
    """
    made, changed, refused = _edited(Unchecked.of(case), mutator, variant, site, rng)
    mutant = Case(made.graph, made.plan, made.claim)
    broken = violations(
        case,
        mutant,
        changed,
        facts=facts,
        refused=refused,
        aliasing=mutator.is_aliasing,
        nasty=mutator.is_nasty,
    )
    before = case.graph.types
    doubtful = [one.node for one in refused]
    doubtful += [node.name for node in mutant.graph.nodes if before.get(node.name) != node.type]
    return Proposal(
        Mutant(mutant, changed, mutator.effect, mutator.name, variant, site),
        tuple(broken),
        tuple(dict.fromkeys(doubtful)),
    )


def _edited(
    case: Case, mutator: Mutator, variant: str, site: Site, rng: np.random.Generator
) -> tuple[Case, tuple[str, ...], tuple[Violation, ...]]:
    """The edit with the types of its dirty cone: mutant, changed nodes, and who refuses."""
    edited = mutator.variants[variant](case, site, rng)
    changed = touched(case.graph, edited.graph)
    if not changed and edited.plan == case.plan and _same_frame(case.graph, edited.graph):
        raise ConstraintViolated(f"{mutator.name}: the edit changes nothing here")
    graph, refused = settle(edited.graph, changed, case.graph)
    return replace(edited, graph=graph, claim=mutator.effect.value), changed, refused


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
