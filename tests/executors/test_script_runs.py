"""Scripts as the frameworks run them: quiet where nothing is wrong, an assertion where it is."""

from __future__ import annotations

import numpy as np
import pytest

from engine.executors.outcome import Array
from engine.executors.request import ones_and_eighths
from engine.ir.case import Case
from engine.ir.text import parse_case
from engine.oracles.comparison import Comparison, Gradients
from engine.oracles.referee import Referee
from engine.oracles.verdict import Divergence, Kind
from engine.script import write_script
from engine.script_run import ScriptRun, run_script
from engine.trial import referees_of

pytestmark = [
    pytest.mark.framework,
    pytest.mark.torch,
    pytest.mark.mindspore,
    pytest.mark.xdist_group("scripts"),
]

DTYPES = """case 1
graph dtypes
  input x: bfloat16[2,3] = [0.1, -0.2, nan, inf, 3.0, 1e-20] layout=transposed
  input y: float32[2,3,4] = normal(seed=1) layout=channels_last
  input z: int64[2] = [9223372036854775807, -9223372036854775808] alias=g
  input w: int64[2] = [1, 1] alias=g
  input b: bool[70] = bernoulli(seed=1)
  v0: float32[2,3] = cast(x; dtype="float32")
  v1: float32[2,3,4] = tanh(y)
  v2: int64[2] = add(z, w)
  v3: bool[70] = logical_not(b)
  return v0, v1, v2, v3
plan
  call
  check values state
"""
SQUARED = """case 1
graph exponential
  input x: float32[3] = [0.5, -1.0, 0.25] requires_grad
  v0: float32[3] = exp(x)
  return v0
plan
  call
  gradient reverse
  check values gradients
"""
TWO_CALLS = """case 1
graph exponential
  input x: float32[3] = [0.5, -1.0, 0.25]
  v0: float32[3] = exp(x)
  return v0
plan
  call
  call x: float64[2,2] = [1.0, 2.0, 3.0, 4.0]
  check values
"""


def comparison_of(case: Case, gradient: Array | None = None) -> Comparison:
    gradients = None
    if gradient is not None:
        gradients = Gradients({"x": gradient}, lambda: (), lambda name, index: True)
    return Comparison(
        case, {}, referees_of(case, {}), lambda framework, node: True, gradients=gradients
    )


def run_of(comparison: Comparison, kind: Kind, mode: str, value: str, **fields: int) -> ScriptRun:
    framework = mode.split("-")[0]
    divergence = Divergence(kind, framework, (mode,), value=value, **fields)  # type: ignore[arg-type]
    return run_script(write_script(comparison, divergence, {}, title="A title"))


def assert_quiet(run: ScriptRun) -> None:
    assert (run.reproduced, run.returncode) == (False, 0), run.output
    assert run.output.rstrip().endswith("no difference")


def mistaken(case: Case) -> Comparison:
    """A referee that is wrong, so that the frameworks look as if they were."""
    referee: Referee = referees_of(case, {})[0]
    wrong = {name: array.astype(np.float64) + 1 for name, array in referee.exact.items()}
    referee.__dict__["exact"] = wrong
    return Comparison(case, {}, (referee,), lambda framework, node: True)


@pytest.mark.parametrize("mode", ["torch-eager", "mindspore-pynative"])
@pytest.mark.parametrize("value", ["v0", "v1", "v3"])
def test_values_of_every_dtype_and_layout_survive_the_script(mode: str, value: str) -> None:
    assert_quiet(run_of(comparison_of(parse_case(DTYPES)), Kind.VALUES, mode, value))


@pytest.mark.parametrize("mode", ["torch-aot", "mindspore-graph"])
def test_a_gradient_is_the_one_that_the_workers_take(mode: str) -> None:
    x = np.array([0.5, -1.0, 0.25])
    exact = ones_and_eighths((3,), "float64").astype(np.float64) * np.exp(x)
    comparison = comparison_of(parse_case(SQUARED), exact)
    assert_quiet(run_of(comparison, Kind.GRADIENT, mode, "gradient of x"))


@pytest.mark.parametrize("mode", ["torch-eager", "torch-aot", "mindspore-pynative"])
def test_a_second_derivative_is_the_one_that_the_workers_take(mode: str) -> None:
    x = np.array([0.5, -1.0, 0.25])
    weights = ones_and_eighths((3,), "float64").astype(np.float64)
    exact = 2 * (1 + np.arange(3) % 7 / 8) * weights**2 * np.exp(2 * x)
    case = parse_case(SQUARED.replace("reverse", "second"))
    assert_quiet(run_of(comparison_of(case, exact), Kind.GRADIENT, mode, "gradient of x"))


@pytest.mark.parametrize("mode", ["torch-aot", "mindspore-graph"])
def test_a_second_call_is_compared_with_its_own_answer(mode: str) -> None:
    comparison = comparison_of(parse_case(TWO_CALLS))
    assert_quiet(run_of(comparison, Kind.SECOND_CALL, mode, "v0", call=1))


@pytest.mark.parametrize("mode", ["torch-aot", "mindspore-graph"])
def test_a_difference_is_asserted(mode: str) -> None:
    run = run_of(mistaken(parse_case(SQUARED)), Kind.VALUES, mode, "v0")
    assert run.reproduced, run.output
    assert "Mismatched elements: 3 / 3" in run.output


def test_a_raise_that_does_not_happen_is_not_reproduced() -> None:
    for mode in ("torch-aot", "mindspore-graph"):
        assert_quiet(run_of(comparison_of(parse_case(SQUARED)), Kind.RAISES, mode, ""))
    moved = Divergence(Kind.MOVED, "torch", ("torch-eager",), message="torch generator")
    text = write_script(comparison_of(parse_case(SQUARED)), moved, {}, title="A title")
    assert_quiet(run_script(text))
