"""Oracles: each kind of difference is seen, the right mode is accused, and noise is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from engine.executors.outcome import Answer, Array, CallAnswer, Failure, Outcome, Status
from engine.executors.reference import evaluate
from engine.finding import Symptom
from engine.ir.case import Case
from engine.ir.text import parse_case
from engine.ir.types import Dense
from engine.ir.values import materialise
from engine.oracles.comparison import Comparison, Counterpart, Gradients
from engine.oracles.differences import Differences
from engine.oracles.gradients import truth
from engine.oracles.judge import judge
from engine.oracles.keys import normalise
from engine.oracles.limits import LIMITS
from engine.oracles.referee import Referee
from engine.oracles.verdict import Kind, Ruling, Verdict
from engine.trial import referees_of

MODES = ("torch-eager", "torch-aot", "mindspore-pynative", "mindspore-graph")
EXP = """case 1
graph exponential
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0)
  v0: float32[2,3] = exp(x)
  return v0
plan
  call
  check values state
"""


def case_of(text: str = EXP) -> Case:
    return parse_case(text)


def right_outcomes(case: Case) -> dict[str, Outcome]:
    """What every mode answers when nothing is wrong."""
    values = evaluate(case.graph, materialise(case.graph, {}))
    outputs = tuple(answer_of(values[name]) for name in case.graph.outputs)
    call = CallAnswer("tensor", outputs)
    return {mode: Outcome(mode, Status.OK, (call,)) for mode in MODES}


def answer_of(array: Array) -> Answer:
    return Answer(array.dtype.name, array.shape, array)


def with_output(outcome: Outcome, array: Array) -> Outcome:
    return replace(outcome, calls=(CallAnswer("tensor", (answer_of(array),)),))


def raising(mode: str, message: str, kind: str = "RuntimeError", node: str = "v0") -> Outcome:
    failure = Failure(kind, message, "", "call 0", node)
    return Outcome(mode, Status.RAISED, failure=failure)


def ruling(
    case: Case, outcomes: Mapping[str, Outcome], *, lists_cpu: bool | None = True
) -> Verdict:
    referee = Referee(case, materialise(case.graph, {}))
    return judge(Comparison(case, outcomes, (referee,), lambda framework, node: lists_cpu))


def test_equal_answers_pass() -> None:
    case = case_of()
    assert ruling(case, right_outcomes(case)).ruling is Ruling.PASS


@pytest.mark.parametrize("mode", MODES)
def test_wrong_values_accuse_the_mode_that_is_far_from_float64(mode: str) -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    array = outcomes[mode].calls[0].outputs[0].array
    assert array is not None
    outcomes[mode] = with_output(outcomes[mode], (array.astype(np.float32) * np.float32(1.01)))
    verdict = ruling(case, outcomes)
    assert [(one.kind, one.modes) for one in verdict.divergences] == [(Kind.VALUES, (mode,))]
    assert verdict.divergences[0].symptom is Symptom.NUMERICAL


def test_a_difference_of_rounding_is_no_divergence() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    array = outcomes["torch-aot"].calls[0].outputs[0].array
    assert array is not None
    nudged = np.nextafter(array, np.float32(np.inf))
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], nudged)
    assert ruling(case, outcomes).ruling is Ruling.PASS


def test_when_every_mode_differs_from_the_referee_nobody_is_accused() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    for mode, outcome in outcomes.items():
        array = outcome.calls[0].outputs[0].array
        assert array is not None
        outcomes[mode] = with_output(outcome, (array.astype(np.float32) + np.float32(0.5)))
    assert ruling(case, outcomes).ruling is Ruling.INCONCLUSIVE


def test_a_cancelled_sum_is_ill_conditioned_and_not_a_bug() -> None:
    text = """case 1
graph cancellation
  input x: float32[4] = [10000000.0, 3.0, 1e6, 77.0]
  input y: float32[4] = [10000000.0, 3.0, 1e6, 77.0]
  v0: float32[4] = sub(x, y)
  v1: float32[4] = log(v0)
  return v1
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(
        outcomes["torch-aot"], np.array([-12.0, -15.0, -9.0, -20.0], np.float32)
    )
    assert not ruling(case, outcomes).failed


def test_a_lost_nan_is_seen() -> None:
    text = EXP.replace("normal(seed=0, mean=0.0, std=1.0)", "formula full(value=nan)")
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = with_output(
        outcomes["mindspore-graph"], np.zeros((2, 3), np.float32)
    )
    verdict = ruling(case, outcomes)
    assert verdict.divergences[0].kind is Kind.NONFINITE
    assert verdict.divergences[0].modes == ("mindspore-graph",)


def test_another_dtype_in_one_mode_is_seen_and_hides_its_values() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.zeros((2, 3), np.float64))
    verdict = ruling(case, outcomes)
    assert [one.kind for one in verdict.divergences] == [Kind.DTYPE]
    assert verdict.divergences[0].message == "float32 -> float64"


def test_another_shape_in_one_mode_is_seen() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = with_output(
        outcomes["mindspore-graph"], np.zeros((3,), np.float32)
    )
    assert ruling(case, outcomes).divergences[0].kind is Kind.SHAPE


def test_a_raise_in_one_mode_only_is_a_crash_of_that_mode() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = raising("mindspore-graph", "For 'Exp', got 3 at 0x7f12")
    found = ruling(case, outcomes).divergences[0]
    assert (found.kind, found.framework) == (Kind.RAISES, "mindspore")
    assert found.message == "RuntimeError: For <name>, got # at #"


def test_a_raise_where_cpu_is_not_listed_is_no_finding() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = raising("mindspore-graph", "no kernel")
    assert not ruling(case, outcomes, lists_cpu=False).failed


@pytest.mark.parametrize(("lists_cpu", "failed"), [(True, True), (False, False), (None, False)])
def test_a_raise_in_every_mode_counts_only_where_the_documentation_promises(
    *, lists_cpu: bool | None, failed: bool
) -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    for mode in ("mindspore-pynative", "mindspore-graph"):
        outcomes[mode] = raising(mode, "no kernel")
    verdict = ruling(case, outcomes, lists_cpu=lists_cpu)
    assert verdict.failed is failed
    assert not failed or verdict.reason.count("CPU") == 1, "the evidence repeats the accusation"


def test_a_call_whose_helper_is_not_for_cpu_promises_nothing() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    for mode in ("mindspore-pynative", "mindspore-graph"):
        outcomes[mode] = raising(mode, "no kernel")
    comparison = Comparison(
        case,
        outcomes,
        (Referee(case, materialise(case.graph, {})),),
        lambda framework, node: True,
        leaves_cpu_out=lambda framework, node: True,
    )
    assert not judge(comparison).failed


def test_a_case_that_eager_pytorch_refuses_is_illegal() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    for mode in MODES[:2]:
        outcomes[mode] = raising(mode, "expected something else")
    assert ruling(case, outcomes).ruling is Ruling.ILLEGAL


def test_what_the_compiler_declines_is_no_finding() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = raising("torch-aot", "data dependent", "torch._dynamo.exc.Unsupported")
    assert not ruling(case, outcomes).failed


def test_what_graph_mode_declines_in_one_piece_is_no_finding() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    said = "In JIT strict mode, cannot get attributes svd. You can use JIT_SYNTAX_LEVEL = '2'."
    outcomes["mindspore-graph"] = raising("mindspore-graph", said)
    assert not ruling(case, outcomes).failed


def test_what_eager_mode_says_of_the_gradient_is_no_finding_of_a_compiler() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    said = "one of the variables needed for gradient computation has been modified by an inplace"
    outcomes["torch-aot"] = raising("torch-aot", f"{said} operation: [torch.FloatTensor [1]]")
    assert ruling(case, outcomes).ruling is Ruling.INCONCLUSIVE


def test_a_derivative_that_a_page_excludes_is_no_finding_of_a_compiler() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    said = "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
    outcomes["torch-aot"] = raising("torch-aot", said)
    assert not ruling(case, outcomes).failed


def test_a_name_that_the_program_itself_lacks_is_nobodys_fault_but_a_compilers_is() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    own = raising("mindspore-graph", "name 'x_' is not defined", "NameError")
    assert own.failure is not None
    outcomes["mindspore-graph"] = own
    assert not ruling(case, outcomes).failed
    for failure in (
        replace(own.failure, entered=("relu",)),
        replace(own.failure, phase="compile"),
    ):
        outcomes["mindspore-graph"] = replace(own, failure=failure)
        assert ruling(case, outcomes).failed


def test_a_native_death_is_a_crash() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = Outcome("mindspore-graph", Status.DIED, signal="SIGSEGV")
    found = ruling(case, outcomes).divergences[0]
    assert (found.kind, found.message) == (Kind.DIED, "SIGSEGV")


def test_an_input_that_changes_is_a_state_error() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    call = outcomes["mindspore-graph"].calls[0]
    changed = replace(call, inputs_after={"x": answer_of(np.ones((2, 3), np.float32))})
    outcomes["mindspore-graph"] = replace(outcomes["mindspore-graph"], calls=(changed,))
    found = ruling(case, outcomes).divergences[0]
    assert (found.kind, found.symptom) == (Kind.INPUT_CHANGED, Symptom.STATE)


def test_flags_that_move_are_a_state_error() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = replace(outcomes["torch-aot"], moved=("torch generator",))
    assert ruling(case, outcomes).divergences[0].kind is Kind.MOVED


def gradient_ruling(seen: Array, exact: Array, *, is_smooth: bool) -> Verdict:
    case = case_of(
        EXP.replace("std=1.0)", "std=1.0) requires_grad").replace(
            "  call", "  call\n  gradient reverse"
        )
    )
    outcomes = right_outcomes(case)
    for mode in MODES:
        outcomes[mode] = replace(outcomes[mode], gradients={"x": answer_of(exact.astype("f4"))})
    outcomes["torch-aot"] = replace(outcomes["torch-aot"], gradients={"x": answer_of(seen)})
    gradients = Gradients({"x": exact}, lambda: ({"x": exact},), lambda name, index: is_smooth)
    referee = Referee(case, materialise(case.graph, {}))
    comparison = Comparison(
        case, outcomes, (referee,), lambda framework, node: True, gradients=gradients
    )
    return judge(comparison)


def test_a_wrong_gradient_is_seen() -> None:
    found = gradient_ruling(np.full((2, 3), 1.1, "f4"), np.ones((2, 3)), is_smooth=True)
    assert [(one.kind, one.modes) for one in found.divergences] == [(Kind.GRADIENT, ("torch-aot",))]


def test_a_gradient_at_a_kink_is_not_compared() -> None:
    assert not gradient_ruling(np.zeros((2, 3), "f4"), np.ones((2, 3)), is_smooth=False).failed


@pytest.mark.parametrize(
    ("seen", "wanted", "failed"),
    [(0.0, np.nan, False), (np.nan, 0.0, True), (np.inf, 0.0, True), (0.0, np.inf, False)],
)
def test_a_gradient_that_is_not_finite_is_expected_of_nobody(
    seen: float, wanted: float, *, failed: bool
) -> None:
    """0 times infinity along a branch that is not taken is one way to carry out the chain rule."""
    given, exact = np.full((2, 3), seen, "f4"), np.full((2, 3), wanted)
    assert gradient_ruling(given, exact, is_smooth=True).failed is failed


@pytest.mark.parametrize(("left", "failed"), [(1e-13, False), (1e-10, True), (0.0, True)])
def test_a_gradient_of_terms_that_cancel_is_as_coarse_as_they_are(
    left: float, *, failed: bool
) -> None:
    """The bias of keys moves no softmax: float64 leaves 1e-13 of great terms, float32 1e-5."""
    text = EXP.replace("std=1.0)", "std=1.0) requires_grad").replace(
        "  call", "  call\n  gradient reverse"
    )
    case = case_of(text)
    outcomes = right_outcomes(case)
    exact = np.full((2, 3), left)
    for mode in MODES:
        outcomes[mode] = replace(outcomes[mode], gradients={"x": answer_of(exact.astype("f4"))})
    seen = answer_of(np.full((2, 3), 5e-5, "f4"))
    outcomes["mindspore-pynative"] = replace(outcomes["mindspore-pynative"], gradients={"x": seen})
    gradients = Gradients(
        {"x": exact, "other": np.full(3, 2000.0)}, lambda: ({"x": exact},), lambda name, index: True
    )
    referee = Referee(case, materialise(case.graph, {}))
    comparison = Comparison(
        case, outcomes, (referee,), lambda framework, node: True, gradients=gradients
    )
    assert judge(comparison).failed is failed


def test_normalised_messages_lose_what_differs_between_runs() -> None:
    one = normalise(
        "TypeError", "\n----\nFor 'MatMul' at /tmp/a/b.py, shape (3, 4) and v17 of 0xff"
    )
    two = normalise("TypeError", "For 'Add' at /var/b.py, shape (1, 2, 3) and v2 of 0x1a")
    assert one == two


def test_a_write_through_a_view_that_is_lost_is_a_state_error() -> None:
    text = """case 1
graph written
  input x: float32[2,3] = formula full(value=2.0)
  v0: float32[2,3] = clone(x)
  v1: float32[1,3] = slice(v0; dim=0, start=0, step=1, stop=1) views v0
  v2: float32[1,3] = neg(v1)
  v3: float32[1,3] = copy_(v1, v2) writes v1
  return v0
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.full((2, 3), 2, np.float32))
    found = ruling(case, outcomes).divergences[0]
    assert (found.kind, found.value, found.symptom) == (Kind.WRITE_LOST, "v0", Symptom.STATE)


@pytest.mark.parametrize("value", ["nan", "inf", "1e+30"])
def test_a_cast_that_no_framework_defines_is_not_compared(value: str) -> None:
    text = f"""case 1
graph cast
  input x: float32[2] = formula full(value={value})
  v0: int32[2] = cast(x; dtype="int32")
  v1: int32[2] = neg(v0)
  return v1
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = with_output(
        outcomes["mindspore-graph"], np.array([7, 7], np.int32)
    )
    assert ruling(case, outcomes).ruling is Ruling.PASS


@pytest.mark.parametrize("mode", MODES)
def test_a_value_without_axes_is_judged_like_any_other(mode: str) -> None:
    text = """case 1
graph total
  input x: float32[3] = [1.0, 2.0, 3.0]
  v0: float32[] = sum(x; dim=none, keepdim=false)
  return v0
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes[mode] = with_output(outcomes[mode], np.array(7.0, np.float32))
    verdict = ruling(case, outcomes)
    assert [(one.kind, one.modes, one.worst) for one in verdict.divergences] == [
        (Kind.VALUES, (mode,), ())
    ]


# ------------------------------------------------------------------------- alarms not to be raised
def test_a_native_death_for_want_of_memory_is_no_crash() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    for outcome in (
        Outcome("mindspore-graph", Status.DIED, signal="SIGKILL"),
        Outcome("mindspore-graph", Status.DIED, signal="SIGABRT", stderr="what(): std::bad_alloc"),
    ):
        verdict = ruling(case, {**outcomes, "mindspore-graph": outcome})
        assert verdict.ruling is Ruling.INCONCLUSIVE


def test_an_internal_assertion_is_one_divergence() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = raising("torch-aot", "x INTERNAL ASSERT FAILED at y")
    assert [one.kind for one in ruling(case, outcomes).divergences] == [Kind.INTERNAL]


@pytest.mark.parametrize(
    "exception", ["DynamicOutputShapeException", "GuardOnDataDependentSymNode"]
)
def test_what_depends_on_data_may_be_declined(exception: str) -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = raising("torch-aot", "u0", f"torch.fx.{exception}")
    assert not ruling(case, outcomes).failed


def test_the_evidence_is_the_same_in_every_process() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.zeros((2, 4), np.float32))
    evidence = ruling(case, outcomes).divergences[0].evidence
    assert evidence == (
        "torch-aot: (2, 4); torch-eager: (2, 3)",
        "mindspore-pynative agrees with (2, 3)",
        "mindspore-graph agrees with (2, 3)",
    )


def test_a_case_without_an_answer_on_numpy_is_not_compared() -> None:
    text = """case 1
graph outside
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0)
  input i: int64[2] = [5, 9]
  v0: float32[2,3] = index_select(x, i; dim=0)
  return v0
plan
  call
  check values state
"""
    case = case_of(text)
    assert referees_of(case, {}) == ()
    call = CallAnswer("tensor", (answer_of(np.zeros((2, 3), np.float32)),))
    outcomes = {mode: Outcome(mode, Status.OK, (call,)) for mode in MODES}
    verdict = judge(Comparison(case, outcomes, (), lambda framework, node: True))
    assert verdict.ruling is Ruling.INCONCLUSIVE


def with_inputs_after(outcome: Outcome, name: str, array: Array) -> Outcome:
    call = replace(outcome.calls[0], inputs_after={name: answer_of(array)})
    return replace(outcome, calls=(call,))


ROUNDED = """case 1
graph rounded
  input x: float32[3] = [-0.0, 1.0, 2.0]
  v0: float32[3] = abs(x)
  v1: float32[3] = copy_(x, v0) writes x
  return v1
plan
  call
  check values state
"""


def test_a_zero_that_changes_its_sign_in_place_is_no_changed_input() -> None:
    case = case_of(ROUNDED)
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = with_inputs_after(
        outcomes["mindspore-graph"], "x", np.array([0.0, 1.0, 2.0], np.float32)
    )
    assert ruling(case, outcomes).ruling is Ruling.PASS


def test_a_write_that_is_lost_is_seen_at_the_input() -> None:
    case = case_of(ROUNDED.replace("[-0.0, 1.0, 2.0]", "[-3.0, 1.0, -2.0]"))
    outcomes = right_outcomes(case)
    for mode in (MODES[0], *MODES[2:]):
        outcomes[mode] = with_inputs_after(
            outcomes[mode], "x", np.array([3.0, 1.0, 2.0], np.float32)
        )
    found = ruling(case, outcomes).divergences[0]
    assert (found.kind, found.value, found.modes) == (Kind.WRITE_LOST, "x", ("torch-aot",))
    assert found.worst == (0,)


@pytest.mark.parametrize(("value", "failed"), [("nan", False), ("2.0", True)])
def test_storage_that_holds_an_undefined_value_is_not_compared(value: str, *, failed: bool) -> None:
    text = f"""case 1
graph written
  input x: float32[2,3] = formula full(value={value})
  v0: float32[2,3] = clone(x)
  v1: float32[1,3] = slice(v0; dim=0, start=0, step=1, stop=1) views v0
  v2: int32[1,3] = cast(v1; dtype="int32")
  v3: float32[1,3] = cast(v2; dtype="float32")
  v4: float32[1,3] = copy_(v1, v3) writes v1
  return v0
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.full((2, 3), 70, np.float32))
    assert ruling(case, outcomes).failed is failed


@pytest.mark.parametrize(
    ("op", "values", "failed"),
    [
        ("argmax", "[3.0, 1.0, 3.0]", False),
        ("argmax", "[0.0, -0.0, 0.0]", False),
        ("argmax", "[3.0, 1.0, 2.0]", True),
    ],
)
def test_the_place_of_equal_values_is_free(op: str, values: str, *, failed: bool) -> None:
    text = f"""case 1
graph place
  input x: float32[3] = {values}
  v0: int64[] = {op}(x; dim=none, keepdim=false)
  return v0
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.array(2, np.int64))
    assert ruling(case, outcomes).failed is failed


def test_the_sign_of_a_computed_zero_is_free() -> None:
    text = """case 1
graph zero
  input x: float32[2] = [-1.0, -2.0]
  v0: float32[2] = relu(x)
  v1: float32[2] = reciprocal(v0)
  return v1
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(
        outcomes["torch-aot"], np.array([-np.inf, np.inf], np.float32)
    )
    assert not ruling(case, outcomes).failed


def complex_case() -> Case:
    return case_of(
        """case 1
graph turned
  input x: complex64[2] = [complex(1.0, 1.0), complex(1000.0, 0.001)]
  v0: complex64[2] = neg(x)
  return v0
plan
  call
  check values state
"""
    )


@pytest.mark.parametrize(("error", "failed"), [(1e-4, False), (1.0, True)])
def test_complex_numbers_are_compared_by_magnitude(error: float, *, failed: bool) -> None:
    case = complex_case()
    outcomes = right_outcomes(case)
    wrong = np.array([-1 - 1j, -1000 - 0.001j - error * 1j], np.complex64)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], wrong)
    assert ruling(case, outcomes).failed is failed


def test_an_extent_that_rounding_decides_is_not_compared() -> None:
    text = """case 1
graph places
  input x: float32[3] = [0.1, 0.2, 0.3]
  input y: float32[3] = [0.3, 0.3, 0.3]
  v0: float32[3] = sub(x, y)
  v1: int64[<=3,1] = nonzero(v0)
  return v1
plan
  call
  check values state
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.zeros((3, 1), np.int64))
    assert not ruling(case, outcomes).failed


def test_a_second_call_is_judged_by_its_own_types() -> None:
    case = case_of(EXP.replace("  call\n", "  call\n  call x: float64[4] = normal(seed=7)\n"))
    referees = referees_of(case, {})
    assert [one.case.graph.types["v0"] for one in referees] == [
        Dense("float32", (2, 3)),
        Dense("float64", (4,)),
    ]
    first, second = (answer_of(np.asarray(one.working["v0"])) for one in referees)
    calls = (CallAnswer("tensor", (first,)), CallAnswer("tensor", (second,)))
    outcomes = {mode: Outcome(mode, Status.OK, calls) for mode in MODES}
    verdict = judge(Comparison(case, outcomes, referees, lambda framework, node: True))
    assert verdict.ruling is Ruling.PASS


def test_an_expanded_input_is_what_the_frameworks_are_given() -> None:
    case = case_of(EXP.replace("std=1.0)", "std=1.0) layout=expanded"))
    values = referees_of(case, {})[0].values["x"]
    np.testing.assert_array_equal(values[0], values[1])


def test_a_second_derivative_that_jumps_is_no_smooth_place() -> None:
    text = """case 1
graph bent
  input x: float32[2] = [0.0, 1.0] requires_grad
  v0: float32[2] = abs(x)
  v1: float32[2] = mul(v0, x)
  return v1
plan
  call
  gradient second
  check values gradients
"""
    smooth = differences_of(text)
    assert [smooth.is_smooth("x", (at,)) for at in (0, 1)] == [False, True]
    once = differences_of(text.replace("second", "reverse"))
    assert once.is_smooth("x", (0,))


SQUARED = """case 1
graph squared
  input x: float32[2] = [1.0, 3.0] requires_grad
  input y: float32[2] = [2.0, 5.0] requires_grad
  v0: float32[2] = mul(x, x)
  v1: float32[2] = mul(v0, y)
  return v1
plan
  call
  gradient reverse
  check values gradients
"""


def differences_of(text: str) -> Differences:
    case = case_of(text)
    return Differences(case, materialise(case.graph, {}))


def test_differences_tell_the_derivative_of_the_weighed_sum() -> None:
    # The loss is v1[0] - 1.125 v1[1].
    found = differences_of(SQUARED)
    assert found.slope("x", (1,)) == pytest.approx(-1.125 * 2 * 3 * 5)
    assert found.slope("y", (0,)) == pytest.approx(1.0)
    # Along (1, 1.125) of both inputs.
    along_both = 2 * 1 * 2 + 1 - 1.125 * (2 * 3 * 5 * 1.125 + 9 * 1.125)
    assert found.slope("loss", ()) == pytest.approx(along_both)


def test_differences_say_nothing_across_a_detach_or_of_second_order() -> None:
    cut = SQUARED.replace("mul(v0, y)", "mul(v2, y)").replace(
        "  v1", "  v2: float32[2] = detach(v0) views v0\n  v1"
    )
    assert differences_of(cut).slope("x", (0,)) is None
    assert differences_of(SQUARED.replace("reverse", "second")).slope("x", (0,)) is None


def test_differences_say_nothing_beside_a_number_that_takes_the_step_away() -> None:
    text = SQUARED.replace("return v1", "v2: float32[2] = add(v1, z)\n  return v2")
    for great, known in ((100.0, True), (3e38, False)):
        given = text.replace("  v0", f"  input z: float32[2] = [{great}, {great}]\n  v0", 1)
        assert (differences_of(given).slope("y", (0,)) is not None) is known


def test_wide_steps_over_stairs_say_nothing_against_narrow_ones() -> None:
    stairs = SQUARED.replace("[2.0, 5.0]", "[227.5, 5.5]").replace("mul(v0, y)", "trunc(y)")
    found = differences_of(stairs)
    assert found.slope("y", (0,)) == 0
    zero = np.zeros(2)
    referee = Gradients(
        {"y": zero}, tuple, lambda name, at: True, found.slope, fine_slope=lambda name, at: 1.0549
    )
    assert np.array_equal(np.asarray(truth(referee, "y", (0,))), zero)


def test_what_no_gradient_flows_to_is_a_constant_to_differences() -> None:
    case = case_of(SQUARED.replace("reverse", "forward"))
    of_x = Differences(case, materialise(case.graph, {}), ("x",))
    assert of_x.slope("loss", ()) == pytest.approx(2 * 1 * 2 - 1.125 * 2 * 3 * 5 * 1.125)
    assert Differences(case, materialise(case.graph, {}), ()).slope("loss", ()) is None


def squared_ruling(gradient: str, given: dict[str, float], exact: float, **more: object) -> Verdict:
    """The derivative called "loss" or "x" as each mode gives it, and as torch-eager-f64 does."""
    case = case_of(SQUARED.replace("reverse", gradient))
    differences = Differences(case, materialise(case.graph, {}))
    name, shape = ("loss", ()) if gradient == "forward" else ("x", (2,))
    right = differences.slope(name, () if gradient == "forward" else (0,))
    assert right is not None

    def array(value: float) -> Array:
        other = differences.slope("x", (1,)) or 0.0
        return np.asarray(value if gradient == "forward" else [value, other]).reshape(shape)

    outcomes = right_outcomes(case)
    for mode in MODES:
        seen = array(given.get(mode, right)).astype("f4")
        outcomes[mode] = replace(outcomes[mode], gradients={name: answer_of(seen)})
    truth = array(exact)
    gradients = Gradients(
        {name: truth},
        lambda: ({name: truth},),
        differences.is_smooth,
        differences.slope,
        **more,  # type: ignore[arg-type]
    )
    referee = Referee(case, materialise(case.graph, {}))
    return judge(
        Comparison(case, outcomes, (referee,), lambda framework, node: True, gradients=gradients)
    )


@pytest.mark.parametrize("gradient", ["reverse", "forward"])
def test_a_referee_that_differences_contradict_is_accused_itself(gradient: str) -> None:
    wrong = dict.fromkeys(("torch-eager", "torch-aot"), 7.5)
    found = squared_ruling(gradient, wrong, 7.5)
    assert [(one.kind, one.framework, one.modes) for one in found.divergences] == [
        (Kind.GRADIENT, "torch", ("torch-eager", "torch-aot"))
    ]
    assert "differences in float64" in found.reason


def test_differences_tell_float64_from_float32() -> None:
    differences = differences_of(DOUBLE.replace("std=1.0)", "std=1.0) requires_grad"))
    at = float(differences.values["x"][0, 1])
    found = differences.fine_slope("x", (0, 1))
    assert found is not None
    weight = found / np.exp(at)
    assert weight == pytest.approx(round(weight * 8) / 8, rel=1e-10)


@pytest.mark.parametrize("off", [6e-8, 0.0])
def test_a_referee_of_float32_grade_accuses_nobody_else(off: float) -> None:
    text = DOUBLE.replace("std=1.0)", "std=1.0) requires_grad").replace(
        "  call", "  call\n  gradient reverse"
    )
    case, differences = case_of(text), differences_of(text)
    right = np.array([[differences.fine_slope("x", (i, j)) for j in range(3)] for i in range(2)])
    wrong = right * (1 + 6e-8)
    outcomes = right_outcomes(case)
    for mode in MODES:
        seen = wrong if mode.startswith("torch") or not off else right
        outcomes[mode] = replace(outcomes[mode], gradients={"x": answer_of(seen)})
    gradients = Gradients(
        {"x": wrong},
        lambda: ({"x": wrong},),
        differences.is_smooth,
        differences.slope,
        fine_slope=differences.fine_slope,
    )
    referee = Referee(case, materialise(case.graph, {}))
    found = judge(
        Comparison(case, outcomes, (referee,), lambda framework, node: True, gradients=gradients)
    )
    accused = [(one.kind, one.framework) for one in found.divergences]
    assert accused == ([(Kind.GRADIENT, "torch")] if off else [])


def test_a_wrong_tangent_of_one_mode_is_seen() -> None:
    right = differences_of(SQUARED.replace("reverse", "forward")).slope("loss", ())
    assert right is not None
    assert not squared_ruling("forward", {}, right, transposed=right, scale=50.0).failed
    found = squared_ruling(
        "forward", {"mindspore-pynative": 7.5}, right, transposed=right, scale=50.0
    )
    assert [(one.kind, one.modes) for one in found.divergences] == [
        (Kind.GRADIENT, ("mindspore-pynative",))
    ]


def test_the_dot_product_test_is_told_where_differences_cannot_say() -> None:
    text = SQUARED.replace("reverse", "forward")
    case = case_of(text)
    outcomes = right_outcomes(case)
    for mode in MODES:
        seen = answer_of(np.asarray(4.0, "f4"))
        outcomes[mode] = replace(outcomes[mode], gradients={"loss": seen})
    truth = np.asarray(4.0)
    gradients = Gradients(
        {"loss": truth}, lambda: ({"loss": truth},), lambda *_: True, transposed=9.0, scale=9.0
    )
    referee = Referee(case, materialise(case.graph, {}))
    verdict = judge(
        Comparison(case, outcomes, (referee,), lambda framework, node: True, gradients=gradients)
    )
    assert verdict.ruling is Ruling.INCONCLUSIVE
    assert "reverse mode 9" in verdict.reason


# ------------------------------------------------------------------- better than float32, exactly
DOUBLE = EXP.replace("float32", "float64")


@pytest.mark.parametrize(("error", "failed"), [(1e-8, True), (3e-14, False)])
def test_float64_must_be_better_than_float32(error: float, *, failed: bool) -> None:
    case = case_of(DOUBLE)
    outcomes = right_outcomes(case)
    array = np.asarray(outcomes["mindspore-graph"].calls[0].outputs[0].array, np.float64)
    outcomes["mindspore-graph"] = with_output(
        outcomes["mindspore-graph"], np.asarray(array * (1 + error))
    )
    assert ruling(case, outcomes).failed is failed


def test_float64_behind_float32_is_held_to_float32() -> None:
    text = """case 1
graph narrowed
  input x: float64[3] = [0.1, 0.7, -1.3]
  v0: float32[3] = cast(x; dtype="float32")
  v1: float64[3] = cast(v0; dtype="float64")
  v2: float64[3] = exp(v1)
  return v2
plan
  call
  check values
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    exact = np.exp(np.array([0.1, 0.7, -1.3]))
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], exact * (1 + 6e-8))
    assert not ruling(case, outcomes).failed


def test_whole_numbers_are_compared_exactly() -> None:
    text = """case 1
graph whole
  input x: int64[2] = [9007199254740993, -9007199254740993]
  v0: int64[2] = neg(x)
  return v0
plan
  call
  check values
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    off = np.array([-9007199254740992, 9007199254740993], np.int64)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], off)
    found = ruling(case, outcomes).divergences
    assert [(one.kind, one.modes, one.worst) for one in found] == [
        (Kind.VALUES, ("torch-aot",), (0,))
    ]


def test_an_ill_conditioned_tail_shows_the_errors_of_every_mode() -> None:
    text = """case 1
graph tail
  input x: float32[2] = [0.3, 0.3]
  v0: float32[2] = square(x)
  v1: float32[2] = mul(x, x)
  v2: float32[2] = sub(v0, v1)
  v3: float32[2] = abs(v2)
  v4: float32[2] = log(v3)
  return v4
plan
  call
  check values
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.array([-18.0, -17], np.float32))
    verdict = ruling(case, outcomes)
    assert verdict.ruling is Ruling.INCONCLUSIVE
    assert "v4 is ill-conditioned: off float64 are torch-eager by" in verdict.reason
    assert "torch-aot by inf" in verdict.reason


def test_what_hangs_on_subnormal_numbers_accuses_nobody() -> None:
    text = EXP.replace("normal(seed=0, mean=0.0, std=1.0)", "formula full(value=1e-40)")
    case = case_of(text.replace("exp(x)", "log(x)"))
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.full((2, 3), -np.inf, np.float32))
    assert not ruling(case, outcomes).failed


@pytest.mark.parametrize(("index", "failed"), [("[1, 1, 2]", False), ("[1, 0, 2]", True)])
def test_which_of_two_values_stays_in_one_place_is_free(index: str, *, failed: bool) -> None:
    text = f"""case 1
graph twice
  input x: float32[1,4] = formula full(value=0)
  input i: int64[1,3] = {index}
  input v: float32[1,3] = [5.0, 6.0, 7.0]
  v0: float32[1,4] = scatter(x, i, v; dim=1)
  return v0
plan
  call
  check values
"""
    case = case_of(text)
    outcomes = right_outcomes(case)
    outcomes["torch-aot"] = with_output(outcomes["torch-aot"], np.array([[0, 5, 7, 0]], np.float32))
    assert ruling(case, outcomes).failed is failed


@pytest.mark.parametrize(
    ("mode", "node", "failed"),
    [
        ("mindspore-graph", "v1", False),
        ("mindspore-graph", "v0", True),
        ("mindspore-pynative", "v1", True),
    ],
)
def test_in_place_calls_may_raise_in_graph_mode_on_cpu_and_nothing_else_may(
    mode: str, node: str, *, failed: bool
) -> None:
    case = case_of(WRITTEN)
    outcomes = right_outcomes(case)
    outcomes[mode] = raising(mode, "Unsupported op on CPU.", node=node)
    verdict = ruling(case, outcomes)
    assert verdict.failed is failed


@pytest.mark.parametrize(
    ("wrong", "failed"), [(("torch-eager", "torch-aot"), False), (("torch-aot",), True)]
)
def test_nan_before_an_otherwise_binds_the_modes_of_a_framework_only(
    wrong: tuple[str, ...], *, failed: bool
) -> None:
    text = EXP.replace("normal(seed=0, mean=0.0, std=1.0)", "formula full(value=nan)")
    case = case_of(text.replace("exp(x)", "softshrink(x; lambd=0.5)"))
    outcomes = right_outcomes(case)
    for mode in wrong:
        outcomes[mode] = with_output(outcomes[mode], np.zeros((2, 3), np.float32))
    assert ruling(case, outcomes).failed is failed


# ------------------------------------------------------------------------ hangs, repetition, layout
def test_a_hang_counts_only_where_it_was_confirmed_alone() -> None:
    case = case_of()
    outcomes = right_outcomes(case)
    outcomes["mindspore-graph"] = Outcome("mindspore-graph", Status.TIMEOUT)
    referee = Referee(case, materialise(case.graph, {}))
    for hung, kinds in (({}, []), ({"mindspore-graph": 600.0}, [Kind.HANG])):
        comparison = Comparison(case, outcomes, (referee,), lambda framework, node: True, hung=hung)
        assert [one.kind for one in judge(comparison).divergences] == kinds


def twice(case: Case, second: Mapping[str, Array]) -> dict[str, Outcome]:
    """Right outcomes of two calls, with another second answer in some modes."""
    outcomes = right_outcomes(case)
    for mode, outcome in outcomes.items():
        call = outcome.calls[0]
        again = replace(call, outputs=(answer_of(second[mode]),)) if mode in second else call
        outcomes[mode] = replace(outcome, calls=(call, again))
    return outcomes


def two_calls(text: str = EXP) -> tuple[Case, tuple[Referee, ...]]:
    case = case_of(text.replace("  call\n", "  call\n  call\n"))
    return case, referees_of(case, {})


def test_a_second_call_that_answers_otherwise_is_a_state_error() -> None:
    case, referees = two_calls()
    outcomes = twice(case, {"torch-aot": np.zeros((2, 3), np.float32)})
    verdict = judge(Comparison(case, outcomes, referees, lambda framework, node: True))
    assert [(one.kind, one.modes, one.call) for one in verdict.divergences] == [
        (Kind.SECOND_CALL, ("torch-aot",), 1)
    ]


def test_an_answer_that_is_wrong_on_both_calls_is_told_once() -> None:
    case, referees = two_calls()
    outcomes = right_outcomes(case)
    wrong = CallAnswer("tensor", (answer_of(np.zeros((2, 3), np.float32)),))
    for mode, outcome in outcomes.items():
        call = wrong if mode == "torch-aot" else outcome.calls[0]
        outcomes[mode] = replace(outcome, calls=(call, call))
    verdict = judge(Comparison(case, outcomes, referees, lambda framework, node: True))
    assert [(one.kind, one.call) for one in verdict.divergences] == [(Kind.VALUES, 0)]


@pytest.mark.parametrize(("mode", "failed"), [("torch-aot", True), ("mindspore-graph", False)])
def test_a_seeded_stream_is_repeated_where_the_framework_promises_it(
    mode: str, *, failed: bool
) -> None:
    case, referees = two_calls(EXP.replace("exp(x)", "dropout(x; p=0.5, seed=7)"))
    outcomes = twice(case, {mode: np.full((2, 3), 9, np.float32)})
    verdict = judge(Comparison(case, outcomes, referees, lambda framework, node: True))
    assert verdict.failed is failed


def test_a_draw_moves_its_generator_and_nothing_else() -> None:
    case = case_of(EXP.replace("exp(x)", "dropout(x; p=0.5, seed=7)"))
    outcomes = right_outcomes(case)
    moved = ("torch default dtype", "torch generator")
    outcomes["torch-aot"] = replace(outcomes["torch-aot"], moved=moved)
    found = ruling(case, outcomes).divergences
    assert [(one.kind, one.message) for one in found] == [(Kind.MOVED, "torch default dtype")]


def laid_out(case: Case, layouts: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]]) -> Verdict:
    """The ruling where modes answer with these strides, sharing the storage of these inputs; the
    others with storage of their own, row by row."""
    outcomes = right_outcomes(case)
    for mode, outcome in outcomes.items():
        strides, shares = layouts.get(mode, ((3, 1), ()))
        (answer,) = outcome.calls[0].outputs
        answer = replace(answer, strides=strides, shares=shares)
        outcomes[mode] = replace(outcome, calls=(replace(outcome.calls[0], outputs=(answer,)),))
    return ruling(case, outcomes)


def test_a_copy_that_shares_storage_breaks_a_promise() -> None:
    case = case_of(EXP.replace("exp(x)", "clone(x)"))
    found = laid_out(case, {"torch-aot": ((3, 1), ("x",))}).divergences
    assert [(one.kind, one.modes) for one in found] == [(Kind.LAYOUT, ("torch-aot",))]
    assert found[0].evidence[0] == "torch.clone: returns a copy of input"


def test_a_view_with_storage_of_its_own_breaks_a_promise() -> None:
    text = EXP.replace("exp(x)", "unsqueeze(x; dim=0) views x").replace(
        "v0: float32[2", "v0: float32[1,2"
    )
    shared = ((6, 3, 1), ("x",))
    modes = dict.fromkeys(MODES, shared) | {"torch-aot": ((6, 3, 1), ())}
    found = laid_out(case_of(text), modes).divergences
    assert [(one.kind, one.modes) for one in found] == [(Kind.LAYOUT, ("torch-aot",))]
    # MindSpore's pages do not say that it is a view.
    assert not laid_out(case_of(text), dict.fromkeys(MODES[:2], shared)).failed


@pytest.mark.parametrize(("strides", "failed"), [((1, 2), True), ((3, 1), False)])
def test_a_contiguous_result_is_laid_out_row_by_row(
    strides: tuple[int, int], *, failed: bool
) -> None:
    case = case_of(EXP.replace("exp(x)", "contiguous(x) views x"))
    assert laid_out(case, {"mindspore-graph": (strides, ())}).failed is failed


def test_nothing_is_said_of_layouts_that_no_mode_keeps() -> None:
    case = case_of(EXP.replace("exp(x)", "contiguous(x) views x"))
    assert not laid_out(case, dict.fromkeys(MODES, ((1, 2), ()))).failed


# ------------------------------------------------------------------------------- known limits
WRITTEN = """case 1
graph written
  input x: float32[3] = [1.0, 2.0, 3.0]
  v0: float32[3] = clone(x)
  v1: float32[3] = add_scalar_(v0; value=1.5) writes v0
  return v1
plan
  call
  check values state
"""


@pytest.mark.parametrize(
    ("mode", "version", "failed"),
    [
        ("mindspore-graph", "2.10.0", False),
        ("mindspore-graph", "2.11.0", True),
        ("mindspore-pynative", "2.10.0", True),
    ],
)
def test_a_known_limit_covers_its_modes_until_it_expires(
    mode: str, version: str, *, failed: bool
) -> None:
    case = case_of(WRITTEN)
    outcomes = right_outcomes(case)
    outcomes[mode] = with_output(outcomes[mode], np.array([1, 2, 3], np.float32))
    referee = Referee(case, materialise(case.graph, {}))
    versions = {"mindspore": version, "torch": "2.13.0+cpu"}
    verdict = judge(
        Comparison(case, outcomes, (referee,), lambda framework, node: True, versions=versions)
    )
    assert verdict.failed is failed
    if not failed:
        assert verdict.ruling is Ruling.INCONCLUSIVE
        assert verdict.limits == ("mindspore: no in-place operations in graph mode on CPU",)
        assert "mindspore.Tensor, Note" in verdict.reason


def test_a_mode_that_a_known_limit_covers_is_not_accused_with_another() -> None:
    case = case_of(WRITTEN)
    outcomes = right_outcomes(case)
    for mode in MODES[2:]:
        outcomes[mode] = with_output(outcomes[mode], np.array([1, 2, 3], np.float32))
    referee = Referee(case, materialise(case.graph, {}))
    versions = {"mindspore": "2.10.0", "torch": "2.13.0+cpu"}
    verdict = judge(
        Comparison(case, outcomes, (referee,), lambda framework, node: True, versions=versions)
    )
    assert verdict.failed
    assert {one.modes for one in verdict.divergences} == {("mindspore-pynative",)}
    assert "Graph" not in verdict.reason
    assert verdict.limits == ("mindspore: no in-place operations in graph mode on CPU",)


@pytest.mark.parametrize(
    ("wrong", "failed"), [(("torch-eager", "torch-aot"), False), (("torch-aot",), True)]
)
def test_overflow_on_the_way_is_documented_where_eager_mode_has_it(
    wrong: tuple[str, ...], *, failed: bool
) -> None:
    text = EXP.replace("normal(seed=0, mean=0.0, std=1.0)", "formula full(value=1e+20)")
    case = case_of(text.replace("exp(x)", "asinh(x)"))
    outcomes = right_outcomes(case)
    for mode in wrong:
        outcomes[mode] = with_output(outcomes[mode], np.full((2, 3), np.inf, np.float32))
    assert ruling(case, outcomes).failed is failed


def test_every_limit_says_where_it_is_documented() -> None:
    for limit in LIMITS:
        assert limit.says
        assert limit.source
        assert limit.expires
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)


def test_modes_that_blame_different_calls_are_accused_apart() -> None:
    text = EXP.replace("  return v0", "  v1: float32[2,3] = abs(v0)\n  return v1")
    case = case_of(text)
    outcomes = right_outcomes(case) | {
        "mindspore-pynative": raising("mindspore-pynative", "no kernel", node="v0"),
        "mindspore-graph": raising("mindspore-graph", "no function", node="v1"),
    }
    found = ruling(case, outcomes).divergences
    assert {(one.node, one.modes) for one in found} == {
        ("v0", ("mindspore-pynative",)),
        ("v1", ("mindspore-graph",)),
    }


def test_a_mode_that_returns_another_structure_is_compared_in_nothing_else() -> None:
    text = EXP.replace("  return v0", "  return v0, x")
    case = case_of(text)
    outcomes = right_outcomes(case)
    one, two = outcomes["mindspore-graph"].calls[0].outputs
    shifted = CallAnswer("tuple", (one, one, two))
    outcomes["mindspore-graph"] = replace(outcomes["mindspore-graph"], calls=(shifted,))
    found = ruling(case, outcomes).divergences
    assert [(each.kind, each.modes) for each in found] == [(Kind.STRUCTURE, ("mindspore-graph",))]


VIEWED = """case 1
graph viewed
  input x: float32[3] = [1.0, 2.0, 3.0]
  v0: float32[3] = clone(x)
  v1: float32[3,1] = unsqueeze(v0; dim=1) views v0
  v2: float32[3] = add_(v0, x) writes v0
  return v1, x
plan
  call
  check values state
"""


@pytest.mark.parametrize("graph_mode", ["right", "another structure"])
def test_a_view_that_no_page_promises_is_promised_by_no_mode_of_another_structure(
    graph_mode: str,
) -> None:
    case = case_of(VIEWED)
    outcomes = right_outcomes(case)
    view, x = outcomes["mindspore-pynative"].calls[0].outputs
    stale = answer_of(np.array([[1], [2], [3]], np.float32))
    outcomes["mindspore-pynative"] = replace(
        outcomes["mindspore-pynative"], calls=(CallAnswer("tuple", (stale, x)),)
    )
    if graph_mode != "right":
        shifted = CallAnswer("tuple", (view, view, x))
        outcomes["mindspore-graph"] = replace(outcomes["mindspore-graph"], calls=(shifted,))
    accused = {mode for one in ruling(case, outcomes).divergences for mode in one.modes}
    assert ("mindspore-pynative" in accused) is (graph_mode == "right")


@pytest.mark.parametrize("promised", [True, False])
def test_a_write_that_no_page_promises_is_not_lost(*, promised: bool) -> None:
    case = case_of(WRITTEN)
    outcomes = right_outcomes(case)
    for mode in MODES[2:]:
        outcomes[mode] = with_output(outcomes[mode], np.array([1, 2, 3], np.float32))
    referee = Referee(case, materialise(case.graph, {}))
    comparison = Comparison(
        case,
        outcomes,
        (referee,),
        lambda framework, node: True,
        promises_write=lambda framework, node: promised,
    )
    assert judge(comparison).failed is promised


# ------------------------------------------------------------------------------- counterparts
def doubted(case: Case, wrong: Mapping[str, Outcome], other: Case, **fields: bool) -> Verdict:
    """The ruling where all but MindSpore is out, and its counterpart answers as it should."""
    outcomes = {mode: right_outcomes(case)[mode] for mode in MODES[2:]} | dict(wrong)
    referee = Referee(case, materialise(case.graph, {}))
    right = {mode: right_outcomes(other)[mode] for mode in MODES[2:]}
    counterpart = Counterpart(
        "in its plainest form",
        other,
        right,
        Referee(other, materialise(other.graph, {})),
        fields.get("is_other_form", True),
    )
    comparison = Comparison(
        case, outcomes, (referee,), lambda framework, node: None, counterparts=(counterpart,)
    )
    first = judge(replace(comparison, counterparts=()))
    assert not first.failed
    assert first.doubted == {"mindspore"}
    return judge(comparison)


def wrong_everywhere(case: Case, array: Array) -> dict[str, Outcome]:
    outcomes = right_outcomes(case)
    return {mode: with_output(outcomes[mode], array) for mode in MODES[2:]}


def test_another_form_testifies_to_values_where_nobody_else_can() -> None:
    case = case_of()
    verdict = doubted(case, wrong_everywhere(case, np.zeros((2, 3), np.float32)), case)
    assert [(one.kind, one.modes) for one in verdict.divergences] == [(Kind.VALUES, MODES[2:])]
    assert "in its plainest form" in verdict.reason


def test_another_form_testifies_to_a_dtype_and_a_shape() -> None:
    case = case_of()
    for array, kind in (
        (np.zeros((2, 3), np.float64), Kind.DTYPE),
        (np.zeros((3,), np.float32), Kind.SHAPE),
    ):
        verdict = doubted(case, wrong_everywhere(case, array), case)
        assert [one.kind for one in verdict.divergences] == [kind]


@pytest.mark.parametrize(
    ("message", "failed"), [("bad argument", True), ("The kernel Exp unregistered.", False)]
)
def test_a_form_that_raises_where_another_answers_is_a_crash(message: str, *, failed: bool) -> None:
    case = case_of()
    raised = {mode: raising(mode, message) for mode in MODES[2:]}
    verdict = doubted(case, raised, case)
    assert [one.kind for one in verdict.divergences] == [Kind.IN_FORM] * failed


@pytest.mark.parametrize("alone", [True, False])
def test_pytorch_is_accused_of_refusing_a_form_of_a_call_alone(*, alone: bool) -> None:
    text = EXP if alone else EXP.replace("  return v0", "  v1: float32[2,3] = abs(v0)\n  return v1")
    case = case_of(text)
    outcomes = right_outcomes(case)
    raised = {mode: raising(mode, "bad argument") for mode in MODES[:2]}
    referee = Referee(case, materialise(case.graph, {}))
    counterpart = Counterpart(
        "in its plainest form", case, {mode: outcomes[mode] for mode in MODES[:2]}, referee, True
    )
    comparison = Comparison(case, outcomes | raised, (referee,), lambda framework, node: None)
    assert judge(comparison).doubted == ({"torch"} if alone else set())
    verdict = judge(replace(comparison, counterparts=(counterpart,)))
    assert [one.kind for one in verdict.divergences] == [Kind.IN_FORM] * alone


def test_the_program_before_a_preserving_mutation_testifies_only_to_the_same_question() -> None:
    case = case_of()
    wrong = wrong_everywhere(case, np.zeros((2, 3), np.float32))
    before = case_of(EXP.replace("exp(x)", "exp(x) as torch:method"))
    assert doubted(case, wrong, before, is_other_form=False).failed
    other = case_of(EXP.replace("exp(x)", "sin(x)"))
    assert not doubted(case, wrong, other, is_other_form=False).failed
