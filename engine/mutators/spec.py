"""How a mutation operator is declared: `mutator(...)`, sites, effects, provenance.

A mutator is a row: where (`sites`), what (`edit`), how it must behave (`effect`), where the idea
comes from (`provenance`), an example. Edits are pure functions `Case -> Case`; they do not choose
sites, log, or retry. `engine.mutators.apply` edits, re-infers types in the dirty cone and checks
constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from engine.errors import BadInput
from engine.ir.case import Case

__all__ = [
    "ALGEBRA",
    "AUDEE",
    "BUG_KIND",
    "COMET",
    "DEVMUT",
    "FLOWMUT_CG",
    "FLOWMUT_TFG",
    "FREEFUZZ",
    "LEMON",
    "MODELMETA",
    "MUFFIN",
    "MUTATORS",
    "OBJECTS",
    "POOLS",
    "PRIMITIVES",
    "TITANFUZZ",
    "Edit",
    "Effect",
    "Mutator",
    "Provenance",
    "Site",
    "Sites",
    "mutator",
    "pool_variants",
]

OBJECTS = ("tensor", "operator", "interface", "subgraph")
PRIMITIVES = ("update", "insertion", "deletion", "rewiring")
POOLS = ("full", "CG", "TFG")


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


def _source(name: str, *pools: str) -> Callable[[str], Provenance]:
    return lambda label: Provenance(name, label, pools)


# An idea of the computation graph alone is in the pool CG; one that needs what flows along an edge
# (dtype, layout, alias, gradient, values) or a contract of a call is in the pool TFG.
LEMON = _source("LEMON", "CG")
COMET = _source("COMET", "CG")
DEVMUT = _source("DevMuT", "CG")
MUFFIN = _source("Muffin", "CG")
MODELMETA = _source("ModelMeta", "CG")
AUDEE = _source("AUDEE", "CG")
FREEFUZZ = _source("FreeFuzz", "CG")
TITANFUZZ = _source("TitanFuzz", "CG")
FLOWMUT_CG = _source("FlowMuT", "CG")
FLOWMUT_TFG = _source("FlowMuT", "TFG")
ALGEBRA = _source("algebraic law", "CG")
BUG_KIND = _source("bug kind", "TFG")


@dataclass(frozen=True)
class Site:
    """Where a mutator acts: a connected subgraph.

    `nodes`: the nodes it covers, in order. `value`: the edge it touches, if it touches one.
    `consumer` and `slot`: the user of that edge and its operand's place, if that use is meant.
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
    """A row of the pool; one row per idea, its `variants` named (parameters of the edit).

    `is_aliasing`: other names of a storage are meant to see a write. `is_nasty`: values outside an
    operator's domain are meant.
    """

    name: str
    effect: Effect
    sites: Sites
    variants: Mapping[str, Edit]
    provenance: Provenance
    example: tuple[str, str]
    doc: str = field(default="", compare=False)
    is_aliasing: bool = False
    is_nasty: bool = False

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
    aliasing: bool = False,
    nasty: bool = False,
) -> Mutator:
    """Declare a mutation operator and enter it in `MUTATORS`.

    `name` is object.primitive.element[.detail], permanent. `edit`: one edit, or several by variant
    name. `example`: parent and mutant as lines of nodes in text form, types left out, for people.
    """
    assert name not in MUTATORS, f"mutator {name} is declared twice"
    parts = name.split(".")
    assert len(parts) >= 3, f"mutator {name}: expected object.primitive.element"
    assert parts[0] in OBJECTS, f"mutator {name}: unknown object"
    assert parts[1] in PRIMITIVES, f"mutator {name}: unknown primitive"
    variants = dict(edit) if isinstance(edit, Mapping) else {"": edit}
    row = Mutator(name, effect, sites, variants, provenance, example, doc, aliasing, nasty)
    MUTATORS[name] = row
    return row


def pool_variants(pool: str = "full") -> tuple[tuple[Mutator, str], ...]:
    """Every (mutator, variant) of a pool, in order of declaration."""
    if pool not in POOLS:
        raise BadInput("pool", seen=pool, expected=" or ".join(POOLS))
    return tuple(
        (row, variant)
        for row in MUTATORS.values()
        if pool == "full" or pool in row.provenance.pools
        for variant in row.variants
    )
