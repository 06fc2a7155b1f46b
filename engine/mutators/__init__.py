"""Mutation operators as tables, and the edits they are made of. Importing completes `MUTATORS`."""

from engine.mutators import (
    blocks,
    control,
    effects,
    forms,
    norms,
    operators,
    plans,
    subgraphs,
    tensors,
    views,
)
from engine.mutators.spec import MUTATORS, Effect, Mutator, Provenance, Site, pool_variants

__all__ = [
    "MUTATORS",
    "Effect",
    "Mutator",
    "Provenance",
    "Site",
    "blocks",
    "control",
    "effects",
    "forms",
    "norms",
    "operators",
    "plans",
    "pool_variants",
    "subgraphs",
    "tensors",
    "views",
]
