"""Foreign functions on the real frameworks: in every mode, traced, and made into findings."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.finding import Finding
from engine.foreign.examination import Workshop, examine
from engine.foreign.reading import read
from engine.foreign.tracing import traced
from engine.script_run import run_script

# Kinds of `tests/data/kinds`, as somebody else would write them. No operator of ours stands for
# softshrink when a model is imported.
NAN_LOST = """
import torch

inputs = [torch.tensor([1.0, float("nan"), -3.0])]


def function(x):
    return torch.nn.functional.softshrink(x)
"""
PRODUCT = """
import torch


def inputs():
    return {
        "x": torch.ones(2, 1, 3, dtype=torch.int32),
        "y": torch.ones(2, 3, 4, dtype=torch.int32),
    }


def function(x, y):
    return torch.bmm(x, y)
"""
AGREES = "import torch\ninputs = [torch.ones(3)]\ndef function(x):\n    return torch.exp(x)\n"
NO_INPUTS = "import torch\ninputs = nothing\ndef function(x):\n    return x\n"
KEYWORD = """
import mindspore as ms
from mindspore import Tensor, ops

inputs = [Tensor([[1.0, 2.0], [3.0, 4.0]], ms.float32)]


def function(x):
    return x.amin(axis=0, keepdims=True)
"""


def made(tmp_path: Path, framework: str) -> Workshop:
    return Workshop(
        interpreter=sys.executable,
        versions={framework: "1"},
        attempts=1,
        deadline=150.0,
        scratch=tmp_path,
    )


def reproduced(finding: Finding | None) -> Finding:
    assert finding is not None
    assert run_script(finding.script).reproduced, finding.script
    return finding


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.inductor
def test_function_that_can_be_traced_is_judged_by_the_engine(tmp_path: Path) -> None:
    workshop = made(tmp_path, "torch")
    found = traced(read(PRODUCT, name="one.py"), workshop)
    assert found.has_ruled, found.reason
    finding = reproduced(found.finding)
    assert found.reason == "traced into a case and judged by the engine"
    assert finding.parts["kind"] == "dtype"
    assert finding.minimised_text
    assert finding.accused_modes == ("torch-inductor",)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.inductor
def test_function_that_cannot_be_traced_is_judged_by_its_modes(tmp_path: Path) -> None:
    found = examine(read(NAN_LOST, name="one.py"), made(tmp_path, "torch"))
    finding = reproduced(found.finding)
    assert found.reason == "judged by what its modes answer"
    assert finding.parts["kind"] == "values"
    assert finding.accused_modes == ("torch-inductor",)
    assert finding.accused_op == "softshrink"
    assert finding.minimised_text == ""
    assert {one.mode: one.status for one in found.answers}["torch-inductor"] == "ok"


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.inductor
def test_function_whose_modes_agree_is_no_finding(tmp_path: Path) -> None:
    found = examine(read(AGREES, name="one.py"), made(tmp_path, "torch"))
    assert found.finding is None
    assert found.reason == "Every mode that ran agrees within the default tolerances."


@pytest.mark.torch
def test_module_that_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="NameError: name 'nothing' is not defined"):
        examine(read(NO_INPUTS, name="one.py"), made(tmp_path, "torch"))


@pytest.mark.mindspore
def test_mindspore_function_that_raises_in_graph_mode_is_a_finding(tmp_path: Path) -> None:
    found = examine(read(KEYWORD, name="one.py"), made(tmp_path, "mindspore"))
    finding = reproduced(found.finding)
    assert finding.accused_modes == ("mindspore-graph",)
    assert finding.symptom == "crash"
    assert finding.parts["kind"] == "raises in one mode"
