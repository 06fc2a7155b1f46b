"""Mutation operators as tables, and the edits they are made of. Importing completes `MUTATORS`."""

from engine.mutators import (
    control,
    effects,
    forms,
    operators,
    plans,
    subgraphs,
    tensors,
)
from engine.mutators.spec import MUTATORS, Effect, Mutator, Provenance, Site, pool_variants

__all__ = [
    "MUTATORS",
    "Effect",
    "Mutator",
    "Provenance",
    "Site",
    "control",
    "effects",
    "forms",
    "operators",
    "plans",
    "pool_variants",
    "subgraphs",
    "tensors",
]
