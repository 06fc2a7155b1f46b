"""A planted fault of each symptom is found, localised to its operator, and minimised to a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from engine.executors.pool import Pool
from engine.finding import Finding, Symptom
from engine.ir.case import Case
from engine.ir.text import parse_case
from engine.ops import OPS
from engine.ops.spec import Form
from engine.report import Discovery, report
from engine.trial import Bench

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.mindspore]

MODEL = """case 1
graph block
  input x: float32[2,3,8] = normal(seed=0, mean=0.0, std=1.0)
  weight w: float32[8,8] = normal(seed=1, mean=0.0, std=0.35)
  v0: float32[2,3,8] = matmul(x, w)
  v1: float32[2,3,8] = sigmoid(v0)
  v2: float32[2,3,8] = sin(v1)
  v3: float32[2,3,8] = add(v2, x)
  v4: float32[2,3,8] = tanh(v3)
  return v4
plan
  call
  check values state
"""
MODES = ("torch-eager", "torch-aot", "mindspore-pynative", "mindspore-graph")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as one:
        yield one


def plant(monkeypatch: pytest.MonkeyPatch, framework: str, form: Form) -> None:
    """Wrap what a framework is asked for when the model calls `sin`."""
    row = OPS["sin"]
    forms: Mapping[str, Mapping[str, Form]] = {**row.forms, framework: {"function": form}}
    monkeypatch.setitem(OPS, "sin", replace(row, forms=forms))


def found_in(pool: Pool, case: Case) -> Finding:
    bench = Bench(pool, MODES)
    trial = bench.trial(case, {})
    assert trial.verdict.failed, trial.verdict
    discovery = Discovery(
        seed="block",
        round=0,
        mutator="",
        lineage=(),
        case=case,
        blobs={},
        parent=case.graph,
        changed=(),
        divergence=trial.verdict.divergences[0],
        original_nodes=len(case.graph.nodes),
    )
    findings = list(report(discovery, bench, seconds=120.0))
    assert len(findings) == 1
    return findings[0]


def test_the_model_itself_passes(pool: Pool) -> None:
    trial = Bench(pool, MODES).trial(parse_case(MODEL), {})
    assert (trial.verdict.failed, len(trial.comparison.ok)) == (False, 4)


@pytest.mark.parametrize(
    ("framework", "form", "symptom"),
    [
        ("torch", Form("torch.sin({x}) * 1.001"), Symptom.NUMERICAL),
        ("mindspore", Form("ops.sin({x}) * 1.001"), Symptom.NUMERICAL),
        ("mindspore", Form("ops.sin({x}, 'nonsense')", api="ops.sin"), Symptom.CRASH),
        ("torch", Form("torch.sin({x})", before=("{x}.mul_(1.5)",)), Symptom.STATE),
    ],
)
def test_a_planted_fault_is_found_localised_and_minimised(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, framework: str, form: Form, symptom: Symptom
) -> None:
    text = MODEL
    if symptom is Symptom.STATE:
        # The fault writes to an operand: it shows where the operand is an input.
        text = text.replace("sin(v1)", "sin(x)")
    plant(monkeypatch, framework, form)
    finding = found_in(pool, parse_case(text))
    assert finding.symptom is symptom
    assert finding.accused_framework == framework
    assert finding.accused_op == "sin"
    assert finding.minimised_nodes == 1
    # The planted fault lives in our row, and so in the text of the script.
    assert finding.reproduction.reproduced == finding.reproduction.attempts == 3
