"""How a mutation operator is declared: `mutator(...)`, sites, effects, provenance.

A mutator is a row: where (`sites`), what (`edit`), how it must behave (`effect`), where the idea comes
from (`provenance`), an example. Edits are pure functions `Case -> Case`; they do not choose sites,
log, or retry. `engine.mutators.apply` edits, re-infers types in the dirty cone and checks constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from engine.ir.case import Case

__all__ = ["MUTATORS", "OBJECTS", "PRIMITIVES", "Edit", "Effect", "Mutator", "Provenance", "Site", "Sites", "mutator"]

OBJECTS = ("tensor", "operator", "interface", "subgraph")
PRIMITIVES = ("update", "insertion", "deletion", "rewiring")


class Effect(StrEnum):
    """What the mutant must do, compared with its parent in the same mode."""

    PRESERVING = "preserving"
    CHANGING = "changing"
    INVALIDATING = "invalidating"


@dataclass(frozen=True)
class Provenance:
    """Where an idea comes from. `pools`: "CG" (computation graph) and/or "TFG"."""

    source: str
    label: str
    pools: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """Where a mutator acts: a connected subgraph.

    `nodes`: the nodes it covers, in order. `value`: the edge it touches, if it touches one.
    `consumer` and `slot`: the user of that edge and the operand position, if only that use is meant.
    `detail`: what else the edit needs to know (a framework, a form), small and JSON-able.
    """

    nodes: tuple[str, ...] = ()
    value: str = ""
    consumer: str = ""
    slot: int = -1
    detail: tuple[tuple[str, str], ...] = ()


Sites: TypeAlias = "Callable[[Case], Iterator[Site]]"
Edit: TypeAlias = "Callable[[Case, Site, np.random.Generator], Case]"

MUTATORS: dict[str, Mutator] = {}


@dataclass(frozen=True)
class Mutator:
    """A row of the pool; one row per idea, its `variants` named (parameters of the edit)."""

    name: str
    effect: Effect
    sites: Sites
    variants: Mapping[str, Edit]
    provenance: Provenance
    example: tuple[str, str]
    doc: str = field(default="", compare=False)

    @property
    def object(self) -> str:
        return self.name.split(".")[0]

    @property
    def primitive(self) -> str:
        return self.name.split(".")[1]

    @property
    def cell(self) -> tuple[str, str]:
        """The (object, primitive) pair by which LinUCB learns."""
        return self.object, self.primitive


def mutator(
    name: str,
    *,
    effect: Effect,
    sites: Sites,
    edit: Edit | Mapping[str, Edit],
    provenance: Provenance,
    example: tuple[str, str],
    doc: str = "",
) -> Mutator:
    """Declare a mutation operator and enter it in `MUTATORS`.

    `name` is object.primitive.element[.detail], permanent. `edit`: one edit, or several by variant
    name. `example`: parent and mutant in text form (the body of a graph).
    """
    assert name not in MUTATORS, f"mutator {name} is declared twice"
    parts = name.split(".")
    assert len(parts) >= 3, f"mutator {name}: expected object.primitive.element"
    assert parts[0] in OBJECTS, f"mutator {name}: unknown object"
    assert parts[1] in PRIMITIVES, f"mutator {name}: unknown primitive"
    variants = dict(edit) if isinstance(edit, Mapping) else {"": edit}
    row = Mutator(name, effect, sites, variants, provenance, example, doc)
    MUTATORS[name] = row
    return row
