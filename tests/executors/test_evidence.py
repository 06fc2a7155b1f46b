"""Evidence of findings on real frameworks: one finding from end to end, and localisation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.ablation import ablations
from engine.cli import main
from engine.executors.pool import Pool
from engine.facts import FACTS
from engine.finding import Finding, Localised
from engine.ir.codec import load_case
from engine.ir.text import parse_case
from engine.localisation import localised
from engine.ops import OPS
from engine.ops.spec import Form
from engine.report import Discovery, report
from engine.trial import Bench

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.mindspore]

# MindSpore's derivative of selu is wrong below zero, in every mode.
SELU = Path(__file__).parents[1] / "data" / "kinds" / "gradient_wrong_in_every_mode.flow"
CHAIN = """case 1
graph chain
  input x: float32[3] = [-1.0, -0.5, 0.5] requires_grad
  a: float32[3] = sin(x)
  b: float32[3] = mul_scalar(a; value=2.0)
  c: float32[3] = selu(b)
  d: float32[3] = tanh(c)
  return d
plan
  call
  gradient reverse
  check values gradients
"""
MODES = ("torch-eager", "torch-aot", "mindspore-pynative", "mindspore-graph")


@pytest.fixture(scope="module")
def finding(pool: Pool) -> Finding:
    case, blobs = load_case(SELU)
    bench = Bench(pool, MODES)
    trial = bench.trial(case, blobs)
    discovery = Discovery(
        seed="",
        round=0,
        mutator="",
        lineage=(),
        case=case,
        blobs=dict(blobs),
        parent=case.graph,
        changed=(),
        divergence=trial.verdict.divergences[0],
        original_nodes=len(case.graph.nodes),
    )
    (found,) = report(discovery, bench, seconds=60.0)
    return found


def test_a_finding_survives_json(finding: Finding) -> None:
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding


def test_its_figures_say_who_is_wrong_and_by_how_much(finding: Finding) -> None:
    wrong = {(one.mode, one.quantity) for one in finding.weighed if one.ratio > 1}
    assert wrong == {("mindspore-pynative", "gradient"), ("mindspore-graph", "gradient")}
    assert {one.mode for one in finding.weighed} >= set(MODES)


def test_its_ablations_say_what_makes_it_go_away(finding: Finding) -> None:
    results = {(one.axis, one.setting): one.result for one in finding.ablations}
    assert results["mode", "torch-eager"] == "passes"
    assert results["mode", "mindspore-graph"] == "fails"
    assert results["dtype", "float64"] == "fails"
    forms = [result for (axis, _), result in results.items() if axis == "form"]
    assert len(forms) >= 3
    assert set(forms) == {"fails"}
    # PyNative is accused too, so what the compiler is told changes nothing.
    assert not [setting for axis, setting in results if axis == "option"]


def test_it_is_localised_in_the_backward_pass(finding: Finding) -> None:
    places = {(one.direction, one.mode, one.value, one.op) for one in finding.localised}
    assert places == {
        ("backward", mode, "x", "selu") for mode in ("mindspore-pynative", "mindspore-graph")
    }


def test_its_values_have_facts(finding: Finding) -> None:
    for text, facts in (
        (finding.parent_text, finding.parent_facts),
        (finding.mutant_text, finding.mutant_facts),
    ):
        assert list(facts) == list(parse_case(text).graph.types)
        assert all(tuple(one) == FACTS for one in facts.values())
    assert finding.mutant_facts["x"]["strides"] == "[1]"
    assert finding.mutant_facts["x"]["gradient"] == "required, leaf"
    assert finding.mutant_facts["x"]["values"].startswith("mean ")


def test_the_wrong_gradient_is_that_of_the_operator_in_the_middle(pool: Pool) -> None:
    bench = Bench(pool, MODES)
    trial = bench.trial(parse_case(CHAIN), {})
    divergence = next(one for one in trial.verdict.divergences if one.kind == "gradient values")
    found: tuple[Localised, ...] = localised(trial, divergence, bench, {})
    assert [(one.mode, one.direction, one.value, one.op) for one in found] == [
        ("mindspore-pynative", "backward", "b", "selu"),
        ("mindspore-graph", "backward", "b", "selu"),
    ]


@pytest.mark.inductor
def test_a_fault_of_the_compiler_is_tried_with_its_options(
    monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    row = OPS["sin"]
    form = Form("torch.sin({x}) * (1.01 if torch.compiler.is_compiling() else 1.0)")
    monkeypatch.setitem(OPS, "sin", replace(row, forms={**row.forms, "torch": {"function": form}}))
    text = CHAIN.replace(" requires_grad", "").replace("gradient reverse", "gradient none")
    bench = Bench(pool, ("torch-eager", "torch-aot", "mindspore-pynative"))
    trial = bench.trial(parse_case(text), {})
    (divergence,) = trial.verdict.divergences
    assert divergence.modes == ("torch-aot",)
    found = {(one.axis, one.setting): one for one in ablations(trial, divergence, bench, {})}
    results = {name: one.result for name, one in found.items()}
    assert results["mode", "torch-eager"] == results["mode", "mindspore-pynative"] == "passes"
    # The campaign did not ask for inductor; the ablation does.
    assert results["mode", "torch-inductor"] == "fails"
    assert results["option", "dynamic"] == "fails"
    assert "raised before" not in found["option", "dynamic"].detail
    (place,) = localised(trial, divergence, bench, {})
    assert (place.mode, place.value, place.op) == ("torch-aot", "a", "sin")


def test_the_whole_reasoning_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(SELU), "--explain", "--modes", ",".join(MODES)]) == 1
    printed = capsys.readouterr().out
    for said in ("gradient of x: float32[3]", "<- counts", "failure key: numerical|mindspore|"):
        assert said in printed
