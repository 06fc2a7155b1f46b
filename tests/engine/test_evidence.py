"""Evidence of findings without a framework: figures, ablations, localisation, reasoning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.ablation import ablations, label
from engine.errors import BadInput
from engine.executors.modes import OPTIONS, mode_named
from engine.explain import explained
from engine.finding import Ablation
from engine.ir.text import parse_case
from engine.localisation import localised
from engine.oracles.verdict import Divergence
from engine.report import _labelled
from engine.trial import Bench, Trial
from engine.weighing import weighed
from tests.engine.pretended import PretendedPool

CHAIN = """case 1
graph chain
  input x: float32[4] = [0.5, 1.0, 1.5, 2.0]
  a: float32[4] = exp(x)
  b: float32[4] = sin(a)
  c: float32[4] = mul(b, a)
  return c
plan
  call
  check values
"""
HALF = CHAIN.replace("float32", "float16")
MODES = ("torch-eager", "torch-aot", "torch-inductor", "mindspore-pynative", "mindspore-graph")


def wrong_sin(x: Any) -> Any:
    return np.sin(x) * 1.5


def nan_sin(x: Any) -> Any:
    return np.where(np.arange(x.size).reshape(x.shape) == 2, np.nan, np.sin(x))


def bench(pool: PretendedPool, modes: tuple[str, ...] = MODES) -> Bench:
    return Bench(pool, modes)  # type: ignore[arg-type]


def failing(pool: PretendedPool, text: str = CHAIN) -> tuple[Trial, Bench]:
    one = bench(pool)
    trial = one.trial(parse_case(text), {})
    assert trial.verdict.failed, trial.verdict
    pool.asked.clear()
    return trial, one


def cells(
    trial: Trial, one: Bench, *, divergence: Divergence | None = None, **options: Any
) -> dict[tuple[str, str], Ablation]:
    found = ablations(trial, divergence or trial.verdict.divergences[0], one, {}, **options)
    return {(cell.axis, cell.setting): cell for cell in found}


# ------------------------------------------------------------------------------------- figures
def test_every_mode_is_weighed_and_the_wrong_one_is_beyond_what_is_allowed() -> None:
    trial, _ = failing(PretendedPool({"torch-aot": {"sin": wrong_sin}}))
    rows = {row.mode: row for row in weighed(trial.comparison)}
    assert set(rows) == set(MODES)
    assert {mode for mode, row in rows.items() if row.ratio > 1} == {"torch-aot"}
    row = rows["torch-aot"]
    assert (row.call, row.name, row.quantity, len(row.at)) == (0, "c", "value", 1)
    exact = np.sin(np.exp([0.5, 1, 1.5, 2])) * np.exp([0.5, 1, 1.5, 2])
    assert float(row.exact) == pytest.approx(exact[row.at])
    assert float(row.got) == pytest.approx(1.5 * exact[row.at], rel=1e-6)
    assert row.error == pytest.approx(abs(0.5 * exact[row.at]), rel=1e-5)
    assert row.ratio == pytest.approx(row.error / max(row.tolerance, row.floor))
    assert 0 < row.floor < row.error


def test_a_wrong_nan_is_infinitely_far_off() -> None:
    trial, _ = failing(PretendedPool({"torch-aot": {"sin": nan_sin}}))
    row = next(row for row in weighed(trial.comparison) if row.mode == "torch-aot")
    assert (row.error, row.ratio, row.at, row.got) == (np.inf, np.inf, (2,), "nan")


def test_random_values_are_not_weighed() -> None:
    text = CHAIN.replace("b: float32[4] = sin(a)", "b: float32[4] = dropout(a; p=0.5, seed=1)")
    trial = bench(PretendedPool()).trial(parse_case(text), {})
    assert weighed(trial.comparison) == ()


def test_a_second_call_is_weighed_against_its_own_inputs() -> None:
    text = CHAIN.replace("  call\n", "  call\n  call x: float32[2] = [1.0, 2.0]\n")
    trial = bench(PretendedPool()).trial(parse_case(text), {})
    rows = [row for row in weighed(trial.comparison) if row.mode == "torch-eager"]
    assert [row.call for row in rows] == [0, 1]
    assert all(row.ratio < 1 for row in rows)


def test_float64_is_held_to_more_than_the_grade_of_float32() -> None:
    def in_float32(x: Any) -> Any:
        return np.sin(x.astype(np.float32)).astype(x.dtype)

    trial, _ = failing(
        PretendedPool({"torch-aot": {"sin": in_float32}}), CHAIN.replace("float32", "float64")
    )
    rows = {row.mode: row for row in weighed(trial.comparison)}
    assert {mode for mode, row in rows.items() if row.ratio > 1} == {"torch-aot"}
    row = rows["torch-aot"]
    assert row.ratio == pytest.approx(row.error / max(row.tolerance, row.floor))
    assert row.error < 4e-7 < 4 * 1e-7 * (1 + abs(float(row.exact)))  # the default lets it pass


def test_the_parts_of_complex_numbers_are_weighed_by_their_magnitude() -> None:
    text = """case 1
graph turned
  input x: complex64[2] = [complex(3.0, 4.0), complex(0.0, 1.0)]
  a: complex64[2] = mul(x, x)
  return a
plan
  call
  check values
"""
    pool = PretendedPool({"torch-aot": {"mul": lambda x, y: x * y + np.array([0, 1j])}})
    trial, _ = failing(pool, text)
    row = next(row for row in weighed(trial.comparison) if row.mode == "torch-aot")
    assert (row.at, row.exact, row.got) == ((1,), "(-1+0j)", "(-1+1j)")
    assert row.error == 1.0


def test_figures_count_exactly_where_the_oracles_accuse() -> None:
    for mode in MODES:
        trial, _ = failing(PretendedPool({mode: {"exp": lambda x: np.exp(x) * 1.01}}))
        wrong = {row.mode for row in weighed(trial.comparison) if row.ratio > 1}
        assert wrong == {one for each in trial.verdict.divergences for one in each.modes} == {mode}


def test_a_wrong_class_that_rounding_reaches_does_not_count() -> None:
    text = """case 1
graph edge
  input x: float32[1] = [1.0]
  input y: float32[1] = [1.0]
  a: float32[1] = sub(x, y)
  b: float32[1] = log(a)
  return b
plan
  call
  check values
"""
    pool = PretendedPool({"torch-aot": {"log": lambda x: np.full(x.shape, np.nan)}})
    trial = bench(pool).trial(parse_case(text), {})
    row = next(row for row in weighed(trial.comparison) if row.mode == "torch-aot")
    assert not trial.verdict.failed
    assert row.ratio <= 1


# ----------------------------------------------------------------------------------- ablations
def test_modes_that_agree_pass_and_the_accused_fails() -> None:
    found = cells(*failing(PretendedPool({"torch-aot": {"sin": wrong_sin}})))
    results = {setting: cell.result for (axis, setting), cell in found.items() if axis == "mode"}
    assert results == {mode: "fails" if mode == "torch-aot" else "passes" for mode in MODES}


def test_a_mode_that_the_campaign_left_out_is_asked_for() -> None:
    pool = PretendedPool({"torch-aot": {"sin": wrong_sin}})
    one = bench(pool, ("torch-eager", "torch-aot", "mindspore-pynative"))
    trial = one.trial(parse_case(CHAIN), {})
    pool.asked.clear()
    assert cells(trial, one)["mode", "torch-inductor"].result == "passes"
    assert "torch-inductor" in pool.asked
    assert "mindspore-graph" not in pool.asked


def test_a_mode_that_fails_in_another_way_differs() -> None:
    pool = PretendedPool({"torch-aot": {"sin": wrong_sin}}, raising=("mindspore-graph",))
    trial, one = failing(pool)
    wrong = next(each for each in trial.verdict.divergences if each.kind == "values")
    found = {cell.setting: cell for cell in ablations(trial, wrong, one, {}) if cell.axis == "mode"}
    assert found["mindspore-graph"].result == "differs"
    assert "raised where another mode answers" in found["mindspore-graph"].detail
    assert found["torch-aot"].result == "fails"


def test_what_raises_everywhere_could_not_run_and_says_why() -> None:
    both = ("mindspore-pynative", "mindspore-graph")
    pool = PretendedPool({"torch-aot": {"sin": wrong_sin}}, raising=both)
    trial, one = failing(pool, HALF)
    cell = cells(trial, one)["mode", "mindspore-pynative"]
    assert (cell.result, cell.detail) == ("could not run", "raised RuntimeError: no kernel")


def test_a_mode_that_is_off_but_not_accused_differs() -> None:
    # Nobody can testify in float64: no other framework answers there.
    pool = PretendedPool({"torch-eager": {"sin": wrong_sin}, "torch-aot": {"sin": wrong_sin}})
    trial, one = failing(pool)
    without = replace(
        trial.comparison,
        outcomes={mode: each for mode, each in trial.outcomes.items() if mode.startswith("torch")},
    )
    cell = cells(replace(trial, comparison=without), one, divergence=trial.verdict.divergences[0])
    assert cell["mode", "torch-eager"].result == "differs"
    assert "nothing else agrees with it" in cell["mode", "torch-eager"].detail


def test_options_are_those_of_the_plainest_accused_mode() -> None:
    both = PretendedPool({mode: {"sin": wrong_sin} for mode in ("torch-aot", "torch-inductor")})
    found = cells(*failing(both))
    assert [setting for axis, setting in found if axis == "option"] == ["dynamic"]
    assert found["option", "dynamic"].detail.startswith("torch-aot: ")


def test_an_eager_mode_has_no_options_and_a_torch_finding_no_levels() -> None:
    found = cells(*failing(PretendedPool({"mindspore-pynative": {"sin": wrong_sin}})))
    assert not [axis for axis, _ in found if axis == "option"]
    found = cells(*failing(PretendedPool({"torch-aot": {"sin": wrong_sin}})))
    assert ("option", "O1") not in found


def test_a_graph_mode_is_tried_at_its_other_level() -> None:
    found = cells(*failing(PretendedPool({"mindspore-graph": {"sin": wrong_sin}}, ("O1",))))
    assert found["option", "O1"].result == "passes"


def test_a_difference_that_vanishes_with_eager_rounding_is_labelled() -> None:
    pool = PretendedPool({"torch-inductor": {"sin": wrong_sin}}, ("emulate_precision_casts",))
    trial, one = failing(pool, HALF)
    found = cells(trial, one)
    assert found["option", "emulate_precision_casts"].result == "passes"
    assert found["option", "dynamic"].result == "fails"
    assert label(tuple(found.values())) == "vanishes with emulate_precision_casts"


def test_title_and_verdict_carry_the_label() -> None:
    trial, _ = failing(PretendedPool({"torch-inductor": {"sin": wrong_sin}}), HALF)
    divergence = trial.verdict.divergences[0]
    note = "vanishes with emulate_precision_casts"
    title, verdict = _labelled(divergence, trial.case.graph, note)
    assert title.endswith("torch.compile (inductor) gave wrong values, " + note)
    assert verdict.endswith("; the difference " + note)
    assert note not in "".join(_labelled(divergence, trial.case.graph, ""))


def test_a_difference_that_vanishes_with_dynamic_extents_is_not_labelled() -> None:
    trial, one = failing(PretendedPool({"torch-inductor": {"sin": wrong_sin}}, ("dynamic",)), HALF)
    found = cells(trial, one)
    assert found["option", "dynamic"].result == "passes"
    assert label(tuple(found.values())) == ""


def test_rounding_options_are_only_asked_where_small_floats_are() -> None:
    found = cells(*failing(PretendedPool({"torch-inductor": {"sin": wrong_sin}})))
    assert ("option", "emulate_precision_casts") not in found
    assert ("option", "fallback_random") not in found


def test_wider_dtypes_hold_the_same_numbers() -> None:
    found = cells(*failing(PretendedPool({"torch-aot": {"sin": wrong_sin}}), HALF))
    results = {setting: cell.result for (axis, setting), cell in found.items() if axis == "dtype"}
    assert results == {"float32": "fails", "float64": "fails"}


def test_a_wider_dtype_that_an_operator_refuses_could_not_run() -> None:
    text = """case 1
graph shifts
  input x: int32[3] = [1, 2, 3]
  a: int32[3] = neg(x)
  return a
plan
  call
  check values
"""
    pool = PretendedPool({"torch-aot": {"neg": lambda x: -x + 1}})
    assert cells(*failing(pool, text))["dtype", "int64"].result == "fails"


def test_each_other_form_of_the_accused_call_is_run() -> None:
    text = CHAIN.replace("c: float32[4] = mul(b, a)\n  return c", "return b")
    pool = PretendedPool({"torch-aot": {"sin": wrong_sin}})
    trial, one = failing(pool, text)
    forms = {setting: cell for (axis, setting), cell in cells(trial, one).items() if axis == "form"}
    method = forms["torch.Tensor.sin (method)"]
    assert method.result == "fails"
    assert method.detail.startswith("b = a.sin()")
    assert not any(setting.startswith("mindspore") for setting in forms)


def test_past_the_budget_nothing_is_run_and_that_is_said() -> None:
    pool = PretendedPool({"torch-aot": {"sin": wrong_sin}})
    trial, one = failing(pool)
    now = iter(range(0, 10_000, 50))
    found = cells(trial, one, seconds=60.0, clock=lambda: float(next(now)))
    spent = [cell for cell in found.values() if cell.detail == "the budget of 60 s was spent"]
    assert spent
    assert all(cell.result == "could not run" for cell in spent)
    assert not pool.asked


def test_the_same_run_is_not_paid_for_twice() -> None:
    pool = PretendedPool({"torch-aot": {"sin": wrong_sin}})
    trial, one = failing(pool)
    cells(trial, one)
    assert pool.asked.count("torch-aot+dynamic") == 1
    assert pool.asked.count("torch-inductor") == 0  # the trial has its answer


# -------------------------------------------------------------------------------- localisation
@pytest.mark.parametrize("mode", ["torch-eager", "torch-aot", "mindspore-graph"])
def test_the_first_wrong_value_is_found_in_eager_and_compiled_modes(mode: str) -> None:
    trial, one = failing(PretendedPool({mode: {"sin": wrong_sin}}))
    (found,) = localised(trial, trial.verdict.divergences[0], one, {})
    assert (found.direction, found.mode, found.value, found.op) == ("forward", mode, "b", "sin")
    assert "times what is allowed" in found.detail


def test_a_fault_that_returning_more_hides_is_found_by_shorter_programs() -> None:
    pool = PretendedPool({"torch-aot": {"sin": wrong_sin}}, only_alone=True)
    trial, one = failing(pool)
    (found,) = localised(trial, trial.verdict.divergences[0], one, {})
    assert (found.value, found.op) == ("b", "sin")
    assert "only while no other value is returned" in found.detail


def test_a_mode_that_raises_is_localised_to_the_call_that_raised() -> None:
    trial, one = failing(PretendedPool(raising=("torch-aot",)))
    (found,) = localised(trial, trial.verdict.divergences[0], one, {})
    assert (found.value, found.op) == ("c", "mul")
    assert found.detail == "raises RuntimeError in call 0: no kernel"


def test_a_lost_write_names_who_wrote() -> None:
    text = """case 1
graph written
  input x: float32[2] = [1.0, 2.0]
  a: float32[2] = exp(x)
  b: float32[2] = view(a; shape=(2,)) views a
  c: float32[2] = add_(b, x) writes b
  return a
plan
  call
  check values
"""
    pool = PretendedPool({"torch-aot": {"add_": lambda x, y: x}})
    trial, one = failing(pool, text)
    divergence = trial.verdict.divergences[0]
    assert divergence.kind == "in-place result lost"
    (found,) = localised(trial, divergence, one, {})
    assert (found.value, found.op) == ("a", "exp")
    assert "written to by c" in found.detail
    forms = [cell for cell in ablations(trial, divergence, one, {}) if cell.axis == "form"]
    assert forms[0].setting.startswith("torch.Tensor.add_ (")


def test_an_item_is_blamed_on_what_made_the_pair() -> None:
    text = """case 1
graph pair
  input x: float32[3] = [3.0, 1.0, 2.0]
  a: float32[3] = exp(x)
  t: (float32[], int64[]) = max_dim(a; dim=0, keepdim=false)
  b: float32[] = item(t; index=0)
  return b
plan
  call
  check values
"""
    wrong = {"max_dim": lambda x, **_: (x.max() * 2, np.argmax(x))}
    trial, one = failing(PretendedPool({"torch-aot": wrong}), text)
    (found,) = localised(trial, trial.verdict.divergences[0], one, {})
    assert (found.value, found.op) == ("b", "max_dim")


def test_a_wrong_dtype_is_localised() -> None:
    pool = PretendedPool(dtypes={"torch-aot": {"b": "float64"}})
    trial, one = failing(pool, CHAIN.replace("return c", "return b, c"))
    divergence = next(each for each in trial.verdict.divergences if each.kind == "dtype")
    (found,) = localised(trial, divergence, one, {})
    assert (found.value, found.op) == ("b", "sin")
    assert found.detail.startswith("has dtype float64, float32 is promised")


# ------------------------------------------------------------------------------------ reasoning
def test_the_reasoning_names_what_was_compared_and_who_is_accused() -> None:
    trial, _ = failing(PretendedPool({"torch-aot": {"sin": wrong_sin}}))
    text = "\n".join(explained(trial))
    for said in (
        "3 operators: exp, sin, mul",
        "noise floor from 12 disturbed draws",
        "c: float32[4]",
        "<- counts",
        "accused: torch.compile (aot_eager) gave wrong values",
        "who can testify against torch-aot: mindspore-graph, mindspore-pynative, torch-eager",
        f"failure key: {trial.keys[0]}",
        "calls: exp.function > sin.function > mul.function",
        f"fail: {trial.verdict.reason}",
    ):
        assert said in text, said


def test_the_reasoning_says_what_is_not_compared() -> None:
    text = CHAIN.replace("b: float32[4] = sin(a)", "b: float32[4] = dropout(a; p=0.5, seed=1)")
    trial = bench(PretendedPool()).trial(parse_case(text), {})
    lines = [line.strip() for line in explained(trial)]
    assert "not compared: c is random, or computed from what is" in lines
    assert "none" in lines


# -------------------------------------------------------------------------------- options' names
def test_options_follow_the_name_of_a_mode() -> None:
    row = mode_named("torch-inductor+dynamic+fallback_random")
    assert row.name == "torch-inductor+dynamic+fallback_random"
    assert dict(row.settings) == {"dynamic": True, "fallback_random": True}
    assert row.run == "inductor"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-eager+dynamic", "none, it has no options"),
        ("torch-aot+O1", "one of dynamic"),
        ("torch-fast+dynamic", "one of torch-eager"),
    ],
)
def test_an_option_that_a_mode_has_not_is_bad_input(name: str, expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        mode_named(name)


def test_every_option_is_of_a_mode() -> None:
    for option in OPTIONS.values():
        for mode in option.modes:
            assert mode_named(f"{mode}+{option.name}").settings == (option.setting,)
