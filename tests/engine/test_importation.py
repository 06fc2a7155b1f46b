"""A model made into a seed and checked against the original; campaigns that start from its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from engine.errors import BadInput
from engine.executors.pool import Pool
from engine.importation import Difference, Source, compared, imported, read
from engine.ir.codec import blob_path, load_case, save_case
from engine.ir.graph import Formula, Random, StoredBlob
from engine.options import Options, address_space
from engine.runfolder import RunFolder
from engine.seeds import load_start, seed_digest, seed_scale
from tests.engine.pretended import PretendedPool

RNG = np.random.default_rng(3)
WEIGHT = RNG.normal(size=(3, 2)).astype("float32")
TABLE = RNG.normal(size=(4, 30)).astype("float32")
X = RNG.normal(size=(4, 2)).astype("float32")


def source(**arrays: Any) -> Source:
    """relu(x weight^T) beside a table of noise that is added to the sum of each row."""
    weight = {"name": "0.weight", "names": ["p_weight"], "shape": [3, 2], "dtype": "float32"}
    statistics = {"mean": 0.0, "std": 0.5, "min": -1.0, "max": 1.0}
    product = np.maximum(X @ WEIGHT.T, 0)
    calls = [
        ("linear", "aten.linear.default", [{"value": "x"}, {"value": "p_weight"}]),
        ("relu", "aten.relu.default", [{"value": "linear"}]),
        ("sum", "aten.sum.dim_IntList", [{"value": "relu"}, [1], True]),
        ("add", "aten.add.Tensor", [{"value": "sum"}, {"value": "constant_0"}]),
    ]
    exported = {
        "inputs": [{"name": "x", "given": "x", "shape": [4, 2], "dtype": "float32"}],
        "parameters": [{**weight, "trainable": True, "estimate": False, "statistics": statistics}],
        "constants": [{"name": "constant_0", "shape": [4, 30], "dtype": "float32"}],
        "nodes": [
            {"name": name, "target": target, "args": args, "kwargs": {}, "scope": "", "outputs": []}
            for name, target, args in calls
        ],
        "outputs": ["relu", "add"],
    }
    held = {
        "p_weight": WEIGHT,
        "constant_0": TABLE,
        "input_0": X,
        "output_0": product,
        "output_1": product.sum(1, keepdims=True) + TABLE,
    }
    return Source(exported, {**held, **arrays})


def checked(given: Source, **faults: Mapping[str, Any]) -> tuple[Difference, ...]:
    pool = PretendedPool(faults={name.replace("_", "-"): one for name, one in faults.items()})
    return compared(given, imported(given, name="mine"), cast(Pool, pool))


# ---------------------------------------------------------------------------------------- import
def test_weights_are_drawn_as_measured_and_noise_is_kept_beside_the_case() -> None:
    found = imported(source(), name="mine")
    inits = {one.name: one.init for one in found.case.graph.inputs}
    assert inits["m0_weight"] == Random("normal", 1, (("mean", 0.0), ("std", 0.5)))
    assert isinstance(inits["constant_0"], StoredBlob)
    assert [one.tolist() for one in found.blobs.values()] == [TABLE.tolist()]


def test_the_model_s_own_weights_are_kept_where_they_are_asked_for() -> None:
    found = imported(source(), name="mine", weights="blobs")
    init = found.case.graph.input_by_name["m0_weight"].init
    assert isinstance(init, StoredBlob)
    assert (found.blobs[init.digest] == WEIGHT).all()


def test_the_report_says_what_was_mapped() -> None:
    report = imported(source(), name="mine").report()
    assert report["operators"] == {
        "aten.linear.default": 1,
        "aten.relu.default": 1,
        "aten.sum.dim_IntList": 1,
        "aten.add.Tensor": 1,
    }
    assert (report["nodes"], report["parameters"], report["trainable"]) == (4, 6, 6)
    assert report["inputs"] == ["x float32[4,2]"]
    assert report["constants"] == {"storedblob": 1}


@pytest.mark.parametrize("name", ["", "Mine", "my seed", "../mine", "none", "parseq"])
def test_a_name_that_is_none_or_a_shipped_seed_s_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="name"):
        imported(source(), name=name)


@pytest.mark.parametrize(
    ("given", "batch", "said"),
    [("nowhere.pt2", None, "no such file"), ("model", None, "module:factory")],
)
def test_what_is_no_model_is_refused(given: str, batch: int | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read(given, interpreter=Path("python"), batch=batch)


# ----------------------------------------------------------------------------------------- check
def test_the_graph_is_compared_with_the_original_in_both_frameworks() -> None:
    checks = checked(source())
    assert [(one.mode, one.agrees) for one in checks] == [
        ("torch-eager", True),
        ("mindspore-pynative", True),
    ]
    assert "within tolerance" in checks[0].text


def test_the_output_that_differs_most_is_told() -> None:
    first, second = checked(source(output_1=TABLE + 50), mindspore_pynative={"relu": lambda x: x})
    assert not first.agrees
    assert first.largest > 10
    assert "OVER THE TOLERANCE" in first.text
    assert not second.agrees


def test_nan_in_other_places_is_no_agreement() -> None:
    original = np.maximum(X @ WEIGHT.T, 0)
    original[0, 0] = np.nan
    (first, _) = checked(source(output_0=original))
    assert not first.agrees
    assert "other places" in first.text


def test_a_mode_that_raises_is_told_with_its_message() -> None:
    given = source()
    pool = PretendedPool(raising=("mindspore-pynative",))
    first, second = compared(given, imported(given, name="mine"), cast(Pool, pool))
    assert first.agrees
    assert second.text == "mindspore-pynative: raised: RuntimeError: no kernel"


# -------------------------------------------------------------------------------- campaigns of it
@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = imported(source(), name="mine", weights="blobs")
    path = tmp_path / "mine.flow"
    save_case(path, found.case, found.blobs)
    return path


def test_a_campaign_starts_from_a_case_file_with_its_blobs(file: Path) -> None:
    case, blobs = load_start(str(file))
    assert case.graph.name == "mine"
    assert len(blobs) == 2
    assert seed_scale(str(file)) == "compact"
    assert address_space(str(file)) == address_space("parseq_compact")
    assert Options(seed=str(file), rounds=1).seed == str(file)


def test_a_shipped_seed_has_no_blobs_and_no_digest() -> None:
    assert load_start("parseq_compact")[1] == {}
    assert seed_digest("parseq_compact") == ""


@pytest.mark.parametrize("text", [None, "graph mine\n  nonsense"])
def test_a_case_file_that_cannot_be_read_is_refused_before_anything_runs(
    text: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "mine.flow"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadInput):
        Options(seed=str(path), rounds=1)


def test_a_case_file_without_its_blobs_is_refused(file: Path) -> None:
    blob_path(file).unlink()
    with pytest.raises(BadInput, match="archive"):
        load_start(str(file))


def test_a_run_folder_refuses_the_same_file_with_other_content(file: Path, tmp_path: Path) -> None:
    def opened() -> RunFolder:
        options = Options(seed=str(file), rounds=3, seed_digest=seed_digest(str(file)))
        return RunFolder.open(tmp_path / "run", options)

    assert opened() == opened()
    case, blobs = load_case(file)
    weight = case.graph.input_by_name["m0_weight"]
    graph = replace(
        case.graph,
        inputs=tuple(
            replace(one, init=Formula("full", (("value", 1.0),))) if one == weight else one
            for one in case.graph.inputs
        ),
    )
    save_case(file, replace(case, graph=graph), blobs)
    with pytest.raises(BadInput, match="seed_digest"):
        opened()


def test_options_that_mean_another_content_are_refused(file: Path) -> None:
    with pytest.raises(BadInput, match="content"):
        Options(seed=str(file), rounds=1, seed_digest="0" * 64)
