"""The experiment on legality: what it counts, what it keeps, and mutants from before the filter."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadInput, ConstraintViolated
from engine.legality.page import write_pages
from engine.legality.rates import Rate, interval, rates_of
from engine.legality.record import Broken, Ran, Row, Rows
from engine.mutators import MUTATORS
from engine.mutators.apply import apply, propose
from tests.engine.mutation_cases import FIXTURE

OK = (Ran("torch-eager", "ok"), Ran("mindspore-pynative", "ok"))
RAISED = (Ran("torch-eager", "ok"), Ran("mindspore-pynative", "raised", "ValueError: no", "v1"))


def row(number: int = 0, *, broken: str = "", ran: tuple[Ran, ...] = OK) -> Row:
    kinds = tuple(Broken(one, "v1", "does not fit") for one in broken.split())
    return Row(number, "seed_compact", "a.b.c", "changing", "v1", 3, f"d{number}", kinds, ran)


def test_legal_is_what_runs_wherever_it_is_supported() -> None:
    assert row().legal is True
    assert row(ran=RAISED).legal is False
    assert row(ran=(OK[0], Ran("mindspore-pynative", "unsupported"))).legal is True
    assert row(ran=(RAISED[1], Ran("torch-eager", "unsupported"))).legal is False
    assert row(ran=(Ran("torch-eager", "unsupported"),)).legal is None


def test_a_recorded_finding_explains_what_was_raised() -> None:
    assert replace(row(ran=RAISED), findings=("abc",)).legal is True


def test_every_configuration_counts_the_same_candidates() -> None:
    rows = [
        row(0),
        row(1, ran=RAISED),
        row(2, broken="input"),
        row(3, broken="input", ran=RAISED),
        row(4, broken="output internal", ran=RAISED),
        row(5, broken="structure", ran=RAISED),
        row(6, ran=(Ran("torch-eager", "unsupported"),)),
    ]
    found = {one.configuration: (one.tn, one.fn, one.fp, one.tp) for one in rates_of(rows)}
    assert found == {
        "full": (1, 1, 1, 3),
        "w/o input": (2, 2, 0, 2),
        "w/o internal": (1, 1, 1, 3),
        "w/o output": (1, 1, 1, 3),
        "w/o all": (2, 4, 0, 0),
    }


def test_figures_are_those_of_the_definitions() -> None:
    rates = rates_of([row(0), row(1), row(2, ran=RAISED), row(3, broken="input", ran=RAISED)])[0]
    assert {name: (one.hits, one.total) for name, one in rates.figures.items()} == {
        "retention": (3, 4),
        "legal mutant rate": (2, 3),
        "precision": (1, 1),
        "recall": (1, 2),
        "false-rejection rate": (0, 2),
        "leakage": (1, 2),
    }


def test_an_interval_is_wilsons() -> None:
    low, high = interval(95, 100)
    assert (round(low, 2), round(high, 2)) == (88.82, 97.85)
    assert interval(0, 0) == (0.0, 100.0)
    assert Rate(0, 0).text == "-"


def test_rows_survive_a_kill_in_the_middle_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = Rows.open(path, {"random_seed": 0})
    rows.add(row(0, broken="input", ran=RAISED))
    rows.add(row(1))
    path.write_text(path.read_text()[:-5])
    again = Rows.open(path, {"random_seed": 0})
    assert again.known == {0: row(0, broken="input", ran=RAISED)}
    again.add(row(1))
    assert Rows.open(path, {"random_seed": 0}).known.keys() == {0, 1}


def test_rows_of_another_experiment_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    Rows.open(path, {"random_seed": 0}).add(row())
    with pytest.raises(BadInput, match=re.escape("saw {'random_seed': 0}, expected")):
        Rows.open(path, {"random_seed": 1})


def test_pages_keep_what_people_explained(tmp_path: Path) -> None:
    place = tmp_path / "legality"
    rows = [row(0), row(1, broken="input")]
    write_pages(rows, place, command="flowmut legality")
    data = place.with_suffix(".json")
    text = data.read_text()
    assert text.count('"explanation": ""') == 1
    data.write_text(text.replace('"explanation": ""', '"explanation": "runs by promotion"'))
    write_pages(rows, place, command="flowmut legality")
    page = place.with_suffix(".md").read_text()
    assert (
        "| 1 | seed | `a.b.c` | false rejection | input: does not fit |  | runs by promotion |"
        in (page)
    )
    assert "| full | 1 | 0 | 1 | 0 | 50.0 [9.5, 90.5] |" in page


def test_a_proposal_keeps_what_the_filter_refuses() -> None:
    """Operands that do not fit stay, and so do users of a result in another dtype."""
    broken = set()
    for name in ("interface.rewiring.swapped.unordered", "operator.update.dtype.float64.back"):
        mutator = MUTATORS[name]
        for site in mutator.sites(FIXTURE):
            for number in range(4):
                found = propose(FIXTURE, mutator, "", site, np.random.default_rng(number))
                broken |= {one.kind for one in found.broken}
                assert type(found.mutant.case) is type(FIXTURE)
    assert {"input", "output"} <= broken


def test_campaigns_refuse_what_the_experiment_says_is_broken() -> None:
    """The filter is the same: a cast has no attribute to look up and nothing to repair."""
    mutator = MUTATORS["tensor.update.dtype.onwards"]
    agreed = {True: 0, False: 0}
    for site in mutator.sites(FIXTURE):
        for variant in mutator.variants:
            found = propose(FIXTURE, mutator, variant, site, np.random.default_rng(1))
            try:
                apply(FIXTURE, mutator, variant, site, np.random.default_rng(1))
                is_refused = False
            except ConstraintViolated:
                is_refused = True
            assert is_refused == bool(found.broken), (site, variant)
            agreed[is_refused] += 1
    assert agreed[True]
    assert agreed[False]
