"""The support run finds the one call that fails among many, and goes on where it was killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from engine.executors.pool import Pool
from engine.ops import OPS
from engine.ops.spec import Form
from engine.oracles.verdict import Kind
from engine.support import survey as survey_module
from engine.support.cells import Cell, cells
from engine.support.store import Record, State, Store
from engine.support.survey import GROUPS, survey
from engine.trial import Bench

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.mindspore]

GROUP = GROUPS["torch"]


def plant(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A further form of `sin` on PyTorch; the documentation line is what makes it equal."""
    row = OPS["sin"]
    planted = Form(text, source="planted")
    forms: Mapping[str, Mapping[str, Form]] = {
        **row.forms,
        "torch": {**row.forms["torch"], "planted": planted},
    }
    monkeypatch.setitem(OPS, "sin", replace(row, forms=forms))


def some_cells() -> list[Cell]:
    return [
        one
        for name in ("cos", "sin", "relu")
        for one in cells(OPS[name], "torch")
        if one.dtype == "float32"
    ]


@pytest.fixture(autouse=True)
def _without_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling each failing call costs a minute, and says nothing more here."""
    modes = {**survey_module._EVERY_MODE, "torch": GROUP.modes}
    monkeypatch.setattr(survey_module, "_EVERY_MODE", modes)


def surveyed(pool: Pool, store: Store, chosen: list[Cell]) -> list[Record]:
    steps = survey(chosen, GROUP, Bench(pool, GROUP.modes), store, minimise_seconds=30.0)
    return [one for step in steps for one in step.seen]


def test_a_wrong_call_is_found_among_many_and_becomes_a_finding(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "torch.sin({x}) + 0.5")
    store = Store(tmp_path)
    chosen = some_cells()
    seen = surveyed(pool, store, chosen)

    assert {one.name for one in seen} == {one.name for one in chosen}
    assert {one.mode for one in seen} == set(GROUP.modes)
    lacking = [one for one in seen if one.state is not State.WORKS]
    assert {(one.op, one.form, one.state) for one in lacking} == {("sin", "planted", State.WRONG)}
    assert all(one.backward for one in seen), "the gradient of a shifted sine is that of the sine"
    assert len({one.finding for one in lacking}) == 1
    ((path, finding),) = store.findings()
    assert path.stem == lacking[0].finding
    assert finding.accused_framework == "torch"
    assert finding.reproduction.reproduced == finding.reproduction.attempts
    assert path.with_suffix(".py").read_text() == finding.script


def test_what_is_on_record_is_not_run_again(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    chosen = some_cells()
    surveyed(pool, store, chosen[:4])
    rest = surveyed(pool, store, chosen)
    assert {one.name for one in rest} == {one.name for one in chosen[4:]}
    assert surveyed(pool, store, chosen) == []
    # The row is another by now.
    plant(monkeypatch, "torch.sin({x} * 1)")
    again = surveyed(pool, store, some_cells())
    assert {(one.op, one.form) for one in again} == {("sin", "planted")}


def test_a_form_that_raises_where_others_answer_is_a_finding(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "torch.sin({x}, 1, 2, 3)")
    store = Store(tmp_path)
    lacking = [one for one in surveyed(pool, store, some_cells()) if one.state is not State.WORKS]
    assert {(one.form, one.state) for one in lacking} == {("planted", State.RAISES)}
    ((_, finding),) = store.findings()
    assert finding.accused_framework == "torch"
    assert finding.parts["kind"] == Kind.IN_FORM
