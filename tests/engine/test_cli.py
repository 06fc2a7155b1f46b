"""The command line: listings as data, and bad input as one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli import main
from engine.ops import OPS
from engine.seeds import SEEDS


def listing(capsys: pytest.CaptureFixture[str], name: str) -> list[dict[str, object]]:
    assert main([name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, list)
    return found


def test_seeds_are_listed_with_their_counts(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["name"]: row for row in listing(capsys, "seeds")}
    assert set(rows) == set(SEEDS)
    assert rows["convnextv2_tiny"]["parameters"] == 28_635_496
    assert all({"parameters", "trainable", "nodes"} <= set(row) for row in rows.values())


def test_operators_are_listed_with_the_text_of_every_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = {row["name"]: row for row in listing(capsys, "ops")}
    assert set(rows) == set(OPS)
    forms = rows["relu"]["forms"]
    assert isinstance(forms, dict)
    assert "ops.relu({x})" in forms["mindspore"].values()


def test_mutators_are_listed_with_effect_and_provenance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = listing(capsys, "mutators")
    assert sum(len(row["variants"]) for row in rows) >= 40  # type: ignore[arg-type]
    assert all(row["effect"] and row["provenance"] for row in rows)


def test_modes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    names = [row["name"] for row in listing(capsys, "modes")]
    assert {"torch-eager", "torch-inductor", "mindspore-graph", "numpy"} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--seed", "resnet"], "seed"),
        (["run", "--seed", "convnextv2_tiny_compact", "--modes", "torch-fast"], "torch-fast"),
        (["run", "--seed", "convnextv2_tiny_compact", "--rounds", "0"], "rounds"),
        (["replay", "nowhere.flow"], "nowhere.flow"),
        (["judge", "nowhere.flow", "--modes", "torch-fast"], "torch-fast"),
    ],
)
def test_bad_input_is_one_line_that_names_the_thing(
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert said in message
    assert "Traceback" not in message


def test_an_interpreter_that_does_not_exist_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "--seed", "convnextv2_tiny_compact", "--python", "/nowhere/python"]
    assert main(arguments) == 2
    assert "/nowhere/python" in capsys.readouterr().err
