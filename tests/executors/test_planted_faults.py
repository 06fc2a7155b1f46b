"""A planted fault of each symptom is found, localised to its operator, and minimised to a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from engine.executors.pool import Pool
from engine.finding import Finding, Symptom
from engine.ir.case import Case
from engine.ir.text import parse_case
from engine.ops import OPS
from engine.ops.spec import Form
from engine.oracles.verdict import Kind
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


def found_in(pool: Pool, case: Case, modes: tuple[str, ...] = MODES) -> Finding:
    bench = Bench(pool, modes)
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


# ------------------------------------------------------------------------- one of every other kind
SMALL = """case 1
graph small
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0) requires_grad
  v0: float32[2,3] = tanh(x)
  v1: float32[2,3] = sin(v0)
  v2: float32[2,3] = abs(v1)
  return v2
plan
  call
  check values state
"""
COMPILING = "if torch.compiler.is_compiling() else torch.sin({x})"
SEGFAULT = "__import__('os').kill(__import__('os').getpid(), 11)"


@dataclass(frozen=True)
class Planted:
    """A fault in one operator's row, and the program that meets it."""

    kind: Kind
    framework: str
    form: Form
    text: str = SMALL
    op: str = "sin"


FAULTS = (
    Planted(Kind.DIED, "torch", Form(f"torch.sin({{x}} + ({SEGFAULT} or 0))")),
    Planted(Kind.DTYPE, "torch", Form(f"torch.sin({{x}}).double() {COMPILING}")),
    Planted(Kind.SHAPE, "torch", Form(f"torch.sin({{x}})[None] {COMPILING}")),
    Planted(Kind.NONFINITE, "torch", Form("torch.sin({x}) / 0")),
    Planted(
        Kind.VALUES,
        "mindspore",
        Form("ops.sin({x}.astype(ms.float32)).astype(ms.float64)"),
        SMALL.replace("float32", "float64"),
    ),
    Planted(
        Kind.GRADIENT,
        "mindspore",
        Form("ops.sin(ops.stop_gradient({x})) + 2 * ({x} - ops.stop_gradient({x}))"),
        SMALL.replace("  call\n  check values state", "  call\n  gradient reverse\n  check values"),
    ),
    Planted(
        Kind.WRITE_LOST,
        "torch",
        Form("{x}"),
        SMALL.replace("sin(v0)", "add_(v0, x) writes v0"),
        "add_",
    ),
    Planted(
        Kind.SECOND_CALL,
        "torch",
        Form("torch.sin({x}) * ({self}.append(1) or len({self}))", setup=("{self} = []",)),
        SMALL.replace("  call\n", "  call\n  call\n"),
    ),
    Planted(Kind.MOVED, "torch", Form("torch.sin({x})", before=("torch.rand(1)",))),
    Planted(
        Kind.LAYOUT,
        "torch",
        Form("{x}.view({x}.shape)"),
        SMALL.replace("tanh(x)", "clone(x)").replace("return v2", "return v0, v2"),
        "clone",
    ),
)


@pytest.mark.parametrize("fault", FAULTS, ids=[one.kind.name.lower() for one in FAULTS])
def test_a_planted_fault_of_every_kind_is_found_and_minimised(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, fault: Planted
) -> None:
    row = OPS[fault.op]
    forms = {**row.forms, fault.framework: {"function": fault.form}}
    monkeypatch.setitem(OPS, fault.op, replace(row, forms=forms))
    finding = found_in(pool, parse_case(fault.text), MODES[:3])
    assert finding.parts["kind"] == fault.kind
    assert finding.symptom is fault.kind.symptom
    assert finding.accused_framework == fault.framework
    assert finding.accused_op == fault.op
    # What is written to is a copy, so that the loss shows at an output.
    assert finding.minimised_nodes == (2 if fault.kind is Kind.WRITE_LOST else 1)
    assert finding.reproduction.reproduced >= 2
    if fault.kind in (Kind.NONFINITE, Kind.VALUES):
        assert {one.op for one in finding.localised} == {fault.op}


def test_a_hang_counts_when_it_repeats_alone(monkeypatch: pytest.MonkeyPatch, pool: Pool) -> None:
    plant(monkeypatch, "torch", Form("torch.sin({x} + (__import__('time').sleep(600) or 0))"))
    monkeypatch.setattr(pool, "deadline", lambda mode: 4.0)
    verdict = (
        Bench(pool, ("torch-eager", "mindspore-pynative")).trial(parse_case(SMALL), {}).verdict
    )
    assert [(one.kind, one.modes) for one in verdict.divergences] == [(Kind.HANG, ("torch-eager",))]
    assert verdict.divergences[0].symptom is Symptom.CRASH


SQUARED = SMALL.replace("sin(v0)", "square(v0)")
ALONE = ("mindspore-pynative", "mindspore-graph")


def test_another_form_of_the_call_testifies_where_no_other_framework_does(
    monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    row = OPS["square"]
    right = row.forms["mindspore"]["method"]
    planted = {"function": Form("ops.square({x}) * 1.5"), "method": right}
    monkeypatch.setitem(OPS, "square", replace(row, forms={**row.forms, "mindspore": planted}))
    verdict = Bench(pool, ALONE).trial(parse_case(SQUARED), {}).verdict
    assert [(one.kind, one.modes) for one in verdict.divergences] == [(Kind.VALUES, ALONE)]
    assert "in another form" in verdict.reason


def test_the_program_before_a_preserving_mutation_testifies(
    monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    row = OPS["square"]
    planted = {"function": Form("ops.square({x}) * 1.5")}
    monkeypatch.setitem(OPS, "square", replace(row, forms={**row.forms, "mindspore": planted}))
    mutant, parent = parse_case(SQUARED), parse_case(SQUARED.replace("square(v0)", "mul(v0, v0)"))
    assert not Bench(pool, ALONE).trial(mutant, {}).verdict.failed
    verdict = Bench(pool, ALONE, parent=(parent, {})).trial(mutant, {}).verdict
    assert [(one.kind, one.modes) for one in verdict.divergences] == [(Kind.VALUES, ALONE)]
    assert "before a mutation that must preserve it" in verdict.reason
