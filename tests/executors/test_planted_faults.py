"""A planted fault in every class of symptom is found, localised to its operator, and minimised.

The frameworks are real, their operators are broken: see `tests.executors.broken`. Two further tests
plant a fault in a row's form instead, where it is the form that matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from engine import script, script_run
from engine.executors.pool import Pool
from engine.ir.text import parse_case
from engine.ops import OPS
from engine.ops.spec import Form
from engine.oracles.verdict import Kind
from engine.trial import Bench
from tests.executors.broken import MINDSPORE_FAULTS, TORCH_FAULTS, broken_environment
from tests.executors.discoveries import found_in

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.mindspore]

MODES = ("torch-eager", "torch-aot", "mindspore-pynative")
MODEL = """case 1
graph small
  input x: float32[2,3] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] requires_grad
  v0: float32[2,3] = tanh(x)
  v1: float32[2,3] = abs(v0)
  v2: float32[2,3] = OPERATOR
  v3: float32[2,3] = abs(v2)
  v4: float32[2,3] = add(v3, v0)
  return RETURNED
plan
  call
  check values state
"""
GRADIENT = ("check values state", "gradient reverse\n  check values gradients")


@dataclass(frozen=True)
class Planted:
    """An operator of a broken framework, and the program that meets it.

    `call`: with its operands; `returned`: the outputs. `changes`: of the program's text.
    """

    kind: Kind
    framework: str
    call: str
    modes: tuple[str, ...]
    returned: str = "v4"
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def op(self) -> str:
        return self.call.partition("(")[0]

    @property
    def text(self) -> str:
        text = MODEL.replace("OPERATOR", self.call).replace("RETURNED", self.returned)
        for old, new in self.changes:
            assert old in text
            text = text.replace(old, new)
        return text


EAGER, AOT, PYNATIVE = ("torch-eager",), ("torch-aot",), ("mindspore-pynative",)
# PyTorch is accused of what it refuses in every mode where the program is one call.
ALONE_IN_ITS_PROGRAM = (
    ("  v0: float32[2,3] = tanh(x)\n  v1: float32[2,3] = abs(v0)\n", ""),
    ("  v3: float32[2,3] = abs(v2)\n  v4: float32[2,3] = add(v3, v0)\n", ""),
)
FAULTS = (
    Planted(Kind.DIED, "torch", "sin(v1)", EAGER + AOT),
    Planted(Kind.HANG, "torch", "sinh(v1)", EAGER),
    Planted(Kind.INTERNAL, "torch", "cos(v1)", EAGER),
    Planted(Kind.RAISES, "torch", "tan(v1)", AOT),
    Planted(Kind.DOCUMENTED, "mindspore", "exp(v1)", PYNATIVE),
    Planted(Kind.IN_FORM, "torch", "log(x)", EAGER, "v2", ALONE_IN_ITS_PROGRAM),
    Planted(
        Kind.STRUCTURE,
        "torch",
        "erf(v1)",
        AOT,
        "v2",
        (("  v3: float32[2,3] = abs(v2)\n  v4: float32[2,3] = add(v3, v0)\n", ""),),
    ),
    Planted(Kind.DTYPE, "torch", "erfc(v1)", AOT),
    Planted(Kind.SHAPE, "torch", "acos(v1)", AOT),
    Planted(Kind.NONFINITE, "torch", "exp2(v1)", EAGER + AOT),
    Planted(Kind.VALUES, "torch", "square(v1)", EAGER + AOT),
    Planted(Kind.GRADIENT, "mindspore", "tanhshrink(v1)", PYNATIVE, changes=(GRADIENT,)),
    Planted(Kind.GRADIENT_NONFINITE, "mindspore", "softsign(v1)", PYNATIVE, changes=(GRADIENT,)),
    Planted(Kind.GRADIENT_RAISES, "torch", "expm1(v1)", AOT, changes=(GRADIENT,)),
    # It writes to its operand, which shows where that is an input.
    Planted(Kind.INPUT_CHANGED, "torch", "rad2deg(x)", EAGER + AOT),
    Planted(Kind.WRITE_LOST, "torch", "sin_(v1) writes v1", EAGER + AOT),
    Planted(
        Kind.SECOND_CALL, "torch", "frac(v1)", EAGER, changes=(("  call\n", "  call\n  call\n"),)
    ),
    Planted(Kind.MOVED, "torch", "deg2rad(v1)", EAGER),
    Planted(Kind.LAYOUT, "torch", "clone(x)", EAGER + AOT, "v2, v4"),
)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("broken")
    environments = {
        framework: broken_environment(folder / framework, framework, faults)
        for framework, faults in (("torch", TORCH_FAULTS), ("mindspore", MINDSPORE_FAULTS))
    }
    with Pool(environments=environments) as one:
        yield one


@pytest.fixture(scope="module")
def bench(pool: Pool) -> Bench:
    """One for all, which knows how long an answer takes."""
    made = Bench(pool, MODES)
    working = MODEL.replace("OPERATOR", "neg(v1)").replace("RETURNED", "v4")
    assert not made.trial(parse_case(working), {}).verdict.failed
    return made


@pytest.fixture(scope="module")
def sound_pool() -> Iterator[Pool]:
    with Pool() as one:
        yield one


def test_there_is_a_fault_of_every_kind() -> None:
    assert {one.kind for one in FAULTS} == set(Kind)


@pytest.mark.parametrize("fault", FAULTS, ids=[one.kind.name.lower() for one in FAULTS])
def test_a_planted_fault_is_found_localised_and_minimised(
    monkeypatch: pytest.MonkeyPatch, bench: Bench, fault: Planted
) -> None:
    if fault.kind is Kind.HANG:
        monkeypatch.setattr(bench.pool, "deadline", lambda mode: 5.0)
        monkeypatch.setattr(script, "PATIENCE", 6)
        monkeypatch.setattr(script_run, "PATIENCE", 6)
    finding = found_in(bench, parse_case(fault.text), fault.kind)
    assert finding.parts["kind"] == fault.kind
    assert finding.symptom is fault.kind.symptom
    assert finding.accused_framework == fault.framework
    assert finding.accused_modes == fault.modes
    assert finding.accused_op == fault.op
    assert finding.minimised_nodes == 1
    assert finding.reproduction.reproduced == finding.reproduction.attempts == 3
    for places in (finding.localised, finding.window_localised):
        assert {one.op for one in places} == {fault.op}
        assert {one.mode for one in places} == set(fault.modes)
    if fault.kind in (Kind.GRADIENT, Kind.GRADIENT_NONFINITE, Kind.GRADIENT_RAISES):
        assert {one.direction for one in finding.window_localised} == {"backward"}


# -------------------------------------------------------------- where the referee shares the fault
@pytest.mark.parametrize(
    ("call", "gradient", "modes"),
    [("atan(v1)", "reverse", EAGER + AOT), ("asinh(v1)", "forward", EAGER)],
)
def test_a_gradient_that_is_wrong_in_pytorch_accuses_pytorch(
    bench: Bench, call: str, gradient: str, modes: tuple[str, ...]
) -> None:
    """The gradient referee is PyTorch in float64, which is as wrong: differences tell."""
    text = MODEL.replace("OPERATOR", call).replace("RETURNED", "v4")
    text = text.replace("check values state", f"gradient {gradient}\n  check values gradients")
    finding = found_in(bench, parse_case(text), Kind.GRADIENT)
    assert finding.accused_framework == "torch"
    assert finding.accused_modes == modes
    assert finding.parts["calls"] == f"{call.partition('(')[0]}.function"
    assert "differences in float64 say" in finding.verdict
    assert finding.reproduction.reproduced == finding.reproduction.attempts == 3


# ----------------------------------------------------------------------------- by another program
SQUARED = MODEL.replace("OPERATOR", "square(v1)").replace("RETURNED", "v4")
ALONE = ("mindspore-pynative", "mindspore-graph")


def test_another_form_of_the_call_testifies_where_no_other_framework_does(
    monkeypatch: pytest.MonkeyPatch, sound_pool: Pool
) -> None:
    row = OPS["square"]
    right = row.forms["mindspore"]["method"]
    planted = {"function": Form("ops.square({x}) * 1.5"), "method": right}
    monkeypatch.setitem(OPS, "square", replace(row, forms={**row.forms, "mindspore": planted}))
    verdict = Bench(sound_pool, ALONE).trial(parse_case(SQUARED), {}).verdict
    assert [(one.kind, one.modes) for one in verdict.divergences] == [(Kind.VALUES, ALONE)]
    assert "in another form" in verdict.reason


def test_the_program_before_a_preserving_mutation_testifies(
    monkeypatch: pytest.MonkeyPatch, sound_pool: Pool
) -> None:
    row = OPS["square"]
    planted = {"function": Form("ops.square({x}) * 1.5")}
    monkeypatch.setitem(OPS, "square", replace(row, forms={**row.forms, "mindspore": planted}))
    mutant, parent = parse_case(SQUARED), parse_case(SQUARED.replace("square(v1)", "mul(v1, v1)"))
    assert not Bench(sound_pool, ALONE).trial(mutant, {}).verdict.failed
    verdict = Bench(sound_pool, ALONE, parent=(parent, {})).trial(mutant, {}).verdict
    assert [(one.kind, one.modes) for one in verdict.divergences] == [(Kind.VALUES, ALONE)]
    assert "before a mutation that must preserve it" in verdict.reason
