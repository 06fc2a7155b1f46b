"""Mutants of example cases and of a seed, for the tests of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Node
from engine.mutators import Mutator
from engine.mutators.apply import Mutant, apply
from engine.mutators.examples import MIXED, cases_for

__all__ = ["FIXTURE", "applied", "cases_for", "plain"]

FIXTURE = MIXED


def applied(
    row: Mutator, case: Case, *, most: int = 8, seed: int = 0, variants: int | None = None
) -> Iterator[Mutant]:
    """At most one mutant of each variant: the first of some sites where it applies."""
    sites = tuple(row.sites(case))
    order = np.random.default_rng(seed).permutation(len(sites))[:most]
    for variant in list(row.variants)[:variants]:
        for at in order:
            try:
                yield apply(case, row, variant, sites[at], np.random.default_rng([seed, int(at)]))
            except ConstraintViolated:
                continue
            break


def plain(case: Case) -> Case:
    """The case without the call forms that edits draw at random, and without its claim."""
    nodes = tuple(Node(**{**_fields(node), "forms": ()}) for node in case.graph.nodes)
    return Case(case.graph.with_nodes(nodes), case.plan)


def _fields(node: Node) -> Mapping[str, object]:
    return {name: getattr(node, name) for name in Node.__dataclass_fields__}
