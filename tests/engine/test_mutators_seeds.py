"""The pool on real models: what applies to the compact seeds, and what a chain does to one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from engine.candidates import candidates
from engine.errors import ConstraintViolated
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.values import materialise
from engine.mutators import MUTATORS
from engine.mutators.apply import apply
from engine.seeds import load_seed
from tests.engine.mutation_cases import applied

COMPACT = ("convnextv2_tiny_compact", "qwen2_5_0_5b_compact")


@cache
def made(name: str) -> frozenset[tuple[str, str]]:
    """(row, variant) of every mutant that a few sites of a seed give."""
    case = load_seed(name)
    return frozenset(
        (mutant.mutator, mutant.variant)
        for row in MUTATORS.values()
        for mutant in applied(row, case, most=3, variants=4)
    )


@pytest.mark.parametrize("name", COMPACT)
def test_most_rows_make_mutants_of_a_seed(name: str) -> None:
    rows = {row for row, _ in made(name)}
    assert len(rows) >= 120
    assert len(made(name)) >= 300


def test_the_published_cells_are_filled_on_seeds() -> None:
    cells = {MUTATORS[row].cell for name in COMPACT for row, _ in made(name)}
    assert cells >= {
        ("tensor", "update"),
        ("tensor", "insertion"),
        ("tensor", "rewiring"),
        ("operator", "update"),
        ("operator", "insertion"),
        ("operator", "deletion"),
        ("interface", "update"),
        ("interface", "insertion"),
        ("interface", "rewiring"),
        ("subgraph", "update"),
        ("subgraph", "insertion"),
        ("subgraph", "deletion"),
        ("subgraph", "rewiring"),
    }


@pytest.mark.parametrize("start", [0, 1])
def test_a_chain_of_ordinary_mutants_stays_alive(start: int) -> None:
    """Outputs stay finite and are not constant after twenty mutations in a row."""
    seed = load_seed("convnextv2_tiny_compact")
    case, rng = seed, np.random.default_rng(start)
    for _ in range(20):
        case = grown(case, rng, len(seed.graph.nodes))
    check(case)
    main = np.asarray(
        evaluate(case.graph, materialise(case.graph, {}))[case.graph.outputs[0]], dtype=float
    )
    assert np.isfinite(main).all()
    assert main.std() > 0.0


def grown(case: Case, rng: np.random.Generator, nodes: int) -> Case:
    pool = candidates(case, limit=4, rng=rng)
    while True:
        drawn = pool.sample(rng)
        if drawn.mutator.is_nasty:
            continue
        try:
            return apply(case, drawn.mutator, drawn.variant, drawn.site, rng, seed_nodes=nodes).case
        except ConstraintViolated:
            continue
