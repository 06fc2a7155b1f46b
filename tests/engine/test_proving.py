"""Which variants count, and the record of the runs that prove them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.chain import Chain
from engine.executors.numpy_mode import run_on_numpy
from engine.ir.digest import case_digest
from engine.ir.values import materialise
from engine.mutators.spec import MUTATORS, pool_variants
from engine.proving import PROOFS, Proof, counted, label_of, proofs, remade, write
from engine.seeds import SEEDS, load_seed

SMALL = "efficientad_s_compact"


def test_the_pools_count_what_the_method_asks_for() -> None:
    found = counted(proofs())
    assert found["full"] >= 150
    assert found["CG"] >= 100
    assert found["TFG"] >= 60


def test_the_variants_that_count_come_from_many_rows() -> None:
    rows = {
        row.name
        for row, variant in pool_variants()
        if (one := proofs().get(label_of(row, variant))) is not None and one.accepted
    }
    assert len(rows) >= 80


def test_a_proof_names_a_seed_and_a_draw() -> None:
    for one in proofs().values():
        assert one.seed in SEEDS
        assert len(one.draw) == 2
        assert len(one.digest) == 64


def test_what_is_nasty_on_purpose_never_counts() -> None:
    nasty = [
        proofs()[label_of(row, variant)]
        for row, variant in pool_variants()
        if row.is_nasty and label_of(row, variant) in proofs()
    ]
    assert nasty
    assert not any(one.accepted for one in nasty)


def test_mutants_of_proofs_are_distinct() -> None:
    digests = [one.digest for one in proofs().values() if one.accepted]
    assert len(set(digests)) >= 0.98 * len(digests)


def test_a_proof_can_be_made_again() -> None:
    """The draw leads to a mutant that the filter lets through and that is not its parent."""
    case = load_seed(SMALL)
    arrays = materialise(case.graph, {})
    facts = run_on_numpy(case, [(case.graph.inputs, arrays)], record="facts").recorded
    chain = Chain(case, {}, facts)
    of_seed = [one for one in proofs().values() if one.seed == SMALL and one.accepted]
    shown = [one for one in of_seed if one.variant.split(".")[1] != "insertion"][:40:4]
    assert len(shown) == 10
    made = [remade(one, chain) for one in shown]
    assert all(one is None or case_digest(one.case) != case_digest(case) for one in made)
    assert sum(one is not None for one in made) >= 8


def test_an_unknown_variant_is_made_no_more() -> None:
    one = replace(next(iter(proofs().values())), variant="operator.update.gone")
    assert remade(one, Chain(load_seed(SMALL), {}, {})) is None


def test_a_record_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"a.b.c": Proof("a.b.c", SMALL, (1, 2), "v1", "d" * 64, 3, "pass", accepted=True)}
    path = tmp_path / "proofs.json"
    write(path, known)
    monkeypatch.setattr("engine.proving.PROOFS", path)
    proofs.cache_clear()
    try:
        assert proofs() == known
    finally:
        monkeypatch.undo()
        proofs.cache_clear()
    assert PROOFS.exists()
    assert MUTATORS
