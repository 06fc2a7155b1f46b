"""`flowmut import` from a factory and from a .pt2 file, and a campaign from what it wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli import main
from engine.seeds import load_start

pytestmark = [pytest.mark.framework, pytest.mark.torch]

HERE = Path(__file__).parent


def asked(*arguments: str) -> int:
    return main(["import", *arguments, "--search", str(HERE), "--name", "mine"])


def test_a_factory_is_imported_and_agrees_with_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.flow"
    assert asked("sample_models:encoder", "--out", str(out), "--batch", "3", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == ["src float32[3,5,8]"]
    assert report["operators"]["aten.scaled_dot_product_attention.default"] == 1
    assert [one["mode"] for one in report["checks"]] == ["torch-eager", "mindspore-pynative"]
    assert report["checks"][0]["difference"] < 1e-5
    assert load_start(str(out))[1] == {}


def test_a_pt2_file_is_imported_with_its_weights_and_starts_a_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "model.pt2", tmp_path / "mine.flow"
    code = (
        "import sys, torch, sample_models as m; module, given = m.masked();"
        "torch.export.save(torch.export.export(module, (), given), sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(model)], cwd=HERE, check=True)
    assert asked(str(model), "--out", str(out), "--weights", "blobs") == 0
    assert "torch-eager: greatest difference" in capsys.readouterr().out
    assert load_start(str(out))[1]
    run = ["run", "--seed", str(out), "--rounds", "2", "--modes", "torch-eager,numpy"]
    assert main([*run, "--out", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "checkpoint.json").exists()


def test_operators_without_a_counterpart_are_listed_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.flow"
    assert asked("sample_models:strange", "--out", str(out), "--json") == 2
    rows = json.loads(capsys.readouterr().out)
    assert rows == [{"operator": "aten.linalg_matrix_exp.default", "calls": 1}]
    assert not out.exists()


def test_a_model_that_answers_otherwise_than_its_export_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.flow"
    assert asked("sample_models:changing", "--out", str(out)) == 1
    assert "OVER THE TOLERANCE" in capsys.readouterr().out
    assert not out.exists()
