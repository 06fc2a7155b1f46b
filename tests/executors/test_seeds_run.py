"""The compact seeds in every mode, and the import of a module from outside."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadInput
from engine.executors.outcome import Outcome, Status
from engine.executors.pool import Pool
from engine.importation import compared, imported, read
from engine.ir.case import Case, Plan
from engine.ir.check import check
from engine.ir.types import Dense
from engine.seeds import SEEDS, load_seed
from engine.seeds.importing import export, import_graph

pytestmark = [pytest.mark.framework, pytest.mark.slow]

HERE = Path(__file__).parent
COMPACT = [name for name, seed in SEEDS.items() if seed.scale == "compact"]
MODES = ("torch-eager", "torch-aot", "mindspore-pynative", "mindspore-graph")
AGREEMENT = 1e-4
"""Of the largest logit: far over float32 noise at this depth, far under a wrong operator."""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


def logits(outcome: Outcome) -> np.ndarray:
    assert outcome.status is Status.OK, outcome.failure or outcome.reason
    array = outcome.calls[0].outputs[0].array
    assert array is not None
    return np.asarray(array, dtype=np.float64)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", COMPACT)
def test_a_compact_seed_runs_and_agrees_with_float64(name: str, mode: str, pool: Pool) -> None:
    case = load_seed(name)
    referee = logits(pool.run(case, "torch-eager-f64"))
    seen = logits(pool.run(case, mode))
    difference = float(np.abs(seen - referee).max() / np.abs(referee).max())
    print(f"{name} {mode}: relative difference to float64 {difference:.2e}", file=sys.stderr)
    assert difference < AGREEMENT


@pytest.mark.torch
@pytest.mark.parametrize("name", COMPACT)
def test_nearly_all_weights_of_a_compact_seed_move_some_output(name: str, pool: Pool) -> None:
    case = replace(load_seed(name), plan=Plan(gradient="reverse", checks=("values", "gradients")))
    outcome = pool.run(case, "torch-eager")
    assert outcome.gradient_failure is None
    moved = total = 0
    for given in case.graph.inputs:
        if given.role != "weight" or not given.requires_grad:
            continue
        assert isinstance(given.type, Dense)
        gradient = outcome.gradients[given.name]  # None of what no output depends on
        if gradient is not None and gradient.array is not None:
            moved += int(np.count_nonzero(gradient.array))
        total += given.type.elements
    assert moved >= 0.95 * total


# --------------------------------------------------------------------------------------- import
@pytest.mark.torch
def test_a_module_is_imported_with_its_constants_as_formulas() -> None:
    exported = export(Path(sys.executable), "sample_models:masked", search=[HERE])
    kinds = {
        one["formula"]["name"] if "formula" in one else "values" for one in exported["constants"]
    }
    assert kinds == {"rope_cos", "causal_mask", "arange", "values"}
    graph = import_graph(exported, name="masked")
    check(graph)
    assert [one.name for one in graph.inputs if one.role == "input"] == ["x"]


@pytest.mark.torch
def test_an_imported_module_runs(pool: Pool) -> None:
    graph = import_graph(
        export(Path(sys.executable), "sample_models:masked", search=[HERE]), name="masked"
    )
    assert np.isfinite(logits(pool.run(Case(graph), "torch-eager"))).all()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("sample_models:absent", "absent"),
        ("no_such_module:made", "no_such_module"),
        ("sample_models:training", "training mode"),
    ],
)
def test_a_factory_that_does_not_export_is_answered_with_its_error(factory: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        export(Path(sys.executable), factory, search=[HERE])


@pytest.mark.torch
def test_an_operator_without_a_row_is_named() -> None:
    exported = export(Path(sys.executable), "sample_models:strange", search=[HERE])
    with pytest.raises(BadInput, match=r"aten\.linalg_matrix_exp"):
        import_graph(exported, name="strange")


def test_an_interpreter_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no-python"):
        export(tmp_path / "no-python", "sample_models:masked")


# ----------------------------------------------------------------------------------------- ONNX
@pytest.mark.torch
@pytest.mark.mindspore
@pytest.mark.filterwarnings("ignore")  # those of the exporter are not ours
@pytest.mark.parametrize("made", ["convolutional", "attentive", "upsampling"])
def test_an_exported_onnx_model_computes_the_same_in_both_frameworks(
    made: str, tmp_path: Path, pool: Pool
) -> None:
    torch = pytest.importorskip("torch", reason="exports the models of this test")
    module, given = getattr(importlib.import_module("tests.executors.sample_models"), made)()
    file = tmp_path / "model.onnx"
    names = {"input_names": list(given), "dynamic_axes": {one: {0: "n"} for one in given}}
    torch.onnx.export(module, tuple(given.values()), str(file), dynamo=False, **names)
    source = read(str(file), interpreter=Path(sys.executable), batch=3)
    found = imported(source, name="mine")
    checks = compared(source, found, pool)
    print([one.text for one in checks], file=sys.stderr)
    assert [one.mode for one in checks if one.agrees] == ["torch-eager", "mindspore-pynative"]
    assert source.arrays["input_0"].shape[0] == 3
