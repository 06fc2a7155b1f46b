"""The minimiser: reaches a stated minimum, is idempotent, keeps the failure, grows nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.executors.outcome import Array
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.graph import Literal
from engine.ir.text import parse_case, print_case
from engine.ir.values import materialise
from engine.minimiser import PASSES, Budget, minimise, renamed, size

CHAIN = """case 1
graph chain
  input x: float32[4,6] = normal(seed=1, mean=0.0, std=1.0)
  input y: float32[4,6] = normal(seed=2, mean=0.0, std=1.0)
  v0: float32[4,6] = exp(x)
  v1: float32[4,6] = add(v0, y)
  v2: float32[4,6] = sqrt(v1)
  v3: float32[4,6] = abs(v2)
  v4: float32[4,6] = tanh(v3) as torch:method
  v5: float32[4,6] = neg(v4)
  return v1, v5
plan
  call
  call
  gradient reverse
  check values gradients state
"""


def has_nan_from_sqrt(blobs: dict[str, Array]) -> Callable[[Case], bool]:
    """A stand-in for a framework: fails where a square root answers NaN for a finite operand."""

    def keeps(case: Case) -> bool:
        values = evaluate(case.graph, materialise(case.graph, blobs))
        return any(
            np.isnan(values[node.name]).any() and not np.isnan(values[node.operands[0] or ""]).any()
            for node in case.graph.nodes
            if node.op == "sqrt"
        )

    return keeps


def shrink(text: str) -> tuple[Case, dict[str, Array]]:
    blobs: dict[str, Array] = {}
    budget = Budget(attempts=2000, seconds=1e9)
    return minimise(parse_case(text), blobs, has_nan_from_sqrt(blobs), budget=budget), blobs


def test_proposals_after_the_one_that_is_kept_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def shorten(case: Case, blobs: dict[str, Array]) -> Iterator[Case]:
        if case.graph.outputs != case.graph.outputs[:1]:
            yield case.with_graph(replace(case.graph, outputs=case.graph.outputs[:1]))
            raise AssertionError("one more was asked for")

    monkeypatch.setattr("engine.minimiser.search.PASSES", {"shorten": shorten})
    found = minimise(parse_case(CHAIN), {}, lambda case: True, budget=Budget())
    assert found.graph.outputs == ("v1",)


def test_inputs_of_one_type_are_merged_at_once() -> None:
    names = [f"x{place}" for place in range(30)]
    inputs = "".join(f"  input {one}: float32[2] = normal(seed=1)\n" for one in names)
    sums = "".join(
        f"  v{place}: float32[2] = add({f'v{place - 1}' if place else 'x0'}, {one})\n"
        for place, one in enumerate(names)
    )
    text = f"case 1\ngraph sum\n{inputs}{sums}  return v29\nplan\n  call\n  check values\n"
    proposal = next(PASSES["merge inputs"](parse_case(text), {}))
    assert [one.name for one in proposal.graph.inputs] == ["x0"]
    assert len(proposal.graph.nodes) == 30


def test_one_operator_on_one_number_remains() -> None:
    small, _ = shrink(CHAIN)
    assert [node.op for node in small.graph.nodes] == ["sqrt"]
    assert [one.type.elements for one in small.graph.inputs] == [1]  # type: ignore[union-attr]
    assert small.plan.gradient == "none"
    assert len(small.plan.calls) == 1
    assert isinstance(small.graph.inputs[0].init, Literal)


def test_minimising_twice_changes_nothing() -> None:
    small, blobs = shrink(CHAIN)
    again = minimise(
        small, blobs, has_nan_from_sqrt(blobs), budget=Budget(attempts=2000, seconds=1e9)
    )
    assert print_case(again) == print_case(small)


def test_the_budget_ends_the_search() -> None:
    blobs: dict[str, Array] = {}
    budget = Budget(attempts=1, seconds=1e9)
    minimise(parse_case(CHAIN), blobs, has_nan_from_sqrt(blobs), budget=budget)
    assert budget.spent == 1


def test_time_is_a_budget_too() -> None:
    ticks = iter(range(0, 1000, 10))
    budget = Budget(attempts=10_000, seconds=25, clock=lambda: next(ticks))
    blobs: dict[str, Array] = {}
    minimise(parse_case(CHAIN), blobs, has_nan_from_sqrt(blobs), budget=budget)
    assert budget.spent < 5


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_the_failing_operator_is_found_at_any_depth(depth: int) -> None:
    lines = [f"  w{at}: float32[3] = neg({f'w{at - 1}' if at else 'x'})" for at in range(depth)]
    text = "\n".join(
        [
            "case 1",
            "graph deep",
            "  input x: float32[3] = [1.0, -2.0, 3.0]",
            *lines,
            f"  s: float32[3] = sqrt(w{depth - 1})",
            "  t: float32[3] = abs(s)",
            "  return t",
            "plan",
            "  call",
            "  check values",
            "",
        ]
    )
    small, _ = shrink(text)
    assert [node.op for node in small.graph.nodes] == ["sqrt"]


@settings(deadline=None, max_examples=15)
@given(
    ops=st.lists(st.sampled_from(["neg", "abs", "tanh", "exp"]), min_size=1, max_size=5),
    seed=st.integers(0, 50),
)
def test_what_is_kept_fails_is_legal_and_no_larger(ops: list[str], seed: int) -> None:
    lines = [
        f"  w{at}: float32[2,3] = {op}({f'w{at - 1}' if at else 'x'})" for at, op in enumerate(ops)
    ]
    text = "\n".join(
        [
            "case 1",
            "graph random",
            f"  input x: float32[2,3] = normal(seed={seed}, mean=-1.0, std=2.0)",
            *lines,
            f"  s: float32[2,3] = sqrt(w{len(ops) - 1})",
            "  return s",
            "plan",
            "  call",
            "  check values state",
            "",
        ]
    )
    case = parse_case(text)
    blobs: dict[str, Array] = {}
    keeps = has_nan_from_sqrt(blobs)
    if not keeps(case):
        return
    small = minimise(case, blobs, keeps, budget=Budget(attempts=500, seconds=1e9))
    check(small)
    assert keeps(small)
    assert size(small) <= size(case)


def test_short_names_keep_the_structure() -> None:
    case = parse_case(CHAIN)
    short = renamed(case)
    check(short)
    assert [one.name for one in short.graph.inputs] == ["x", "y"]
    assert [node.op for node in short.graph.nodes] == [node.op for node in case.graph.nodes]
    assert short.graph.outputs == ("b", "a1")


def test_a_value_that_a_loop_captures_can_be_replaced() -> None:
    text = """case 1
graph loop
  input x: float32[3] = [1.0, -2.0, 3.0]
  v0: float32[3] = neg(x)
  v1: float32[3] = for(v0; trips=2) bound 2
    body (i: float32[3]) captures (j = v0)
      b0: float32[3] = add(i, j)
      yield b0
  v2: float32[3] = sqrt(v1)
  return v2
plan
  call
  check values
"""
    proposals = list(PASSES["bypass"](parse_case(text), {}))
    assert proposals
    for one in proposals:
        check(one)
    captured = [region.captures for one in proposals for region in one.graph.nodes[0].regions]
    assert captured == [(("j", "x"),)]


POISONED = """case 1
graph poisoned
  input x: float32[4] = normal(seed=0, mean=0.0, std=1.0) requires_grad
  v0: float32[4] = relu(x)
  v1: float32[4] = neg(v0)
  v2: float32[2,2] = reshape(v1; shape=(2, 2)) views v1
  v3: float32[2,2] = sqrt(v2)
  return v3, v1
plan
  call
  gradient reverse
  loss 1
  check values gradients
"""


def read_by_the_loss(case: Case) -> list[str]:
    return [case.graph.outputs[at] for at in case.plan.loss_outputs]


@pytest.mark.parametrize("name", ["start late", "replace by input", "bypass"])
def test_a_loss_goes_on_reading_what_it_read(name: str) -> None:
    """What the loss does not read may be what makes its gradient wrong."""
    proposals = list(PASSES[name](parse_case(POISONED), {}))
    with_both = [one for one in proposals if len(one.graph.outputs) == 2]
    assert with_both
    for one in with_both:
        assert len(read_by_the_loss(one)) == 1
        assert one.graph.outputs[0] not in read_by_the_loss(one)


def test_what_two_outputs_have_in_common_is_kept_as_the_last_nodes() -> None:
    proposals = list(PASSES["start late"](parse_case(POISONED), {}))
    shared = [one for one in proposals if len(one.graph.outputs) == 2]
    assert [node.op for node in shared[0].graph.nodes] == ["neg", "reshape", "sqrt"]
    assert shared[0].graph.inputs[0].requires_grad


def test_what_only_reshapes_is_left_out_where_what_follows_takes_another_shape() -> None:
    proposals = [one.graph for one in PASSES["bypass"](parse_case(POISONED), {})]
    assert ["relu", "neg", "sqrt"] in [[node.op for node in one.nodes] for one in proposals]


def test_passes_propose_nothing_where_numpy_has_no_answer() -> None:
    text = """case 1
graph outside
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0)
  input i: int64[2] = [5, 9]
  v0: float32[2,3] = index_select(x, i; dim=0)
  v1: float32[2,3] = neg(v0)
  return v1
plan
  call
  check values
"""
    case = parse_case(text)
    assert list(PASSES["start late"](case, {})) == []
    assert list(PASSES["cut out"](case, {})) == []
    assert list(PASSES["replace by input"](case, {})) == []


@pytest.mark.parametrize("literal", ["1e+308", "inf", "nan", "5e-324"])
def test_plain_values_of_extreme_numbers_are_proposed_without_a_warning(literal: str) -> None:
    text = f"""case 1
graph extreme
  input x: float64[2] = [{literal}, 1.0]
  v0: float64[2] = neg(x)
  return v0
plan
  call
  check values
"""
    assert list(PASSES["plain values"](parse_case(text), {}))


@pytest.mark.parametrize(
    ("there", "shape"), [((96,), "shape=(96,)"), ((6, 16), "shape=(6, 16)")], ids=str
)
def test_extents_shrink_through_a_reshape(there: tuple[int, ...], shape: str) -> None:
    flat = ",".join(map(str, there))
    text = f"""case 1
graph folded
  input x: float32[2,3,16] = normal(seed=1, mean=0.0, std=1.0)
  v0: float32[{flat}] = reshape(x; {shape})
  v1: float32[{flat}] = sqrt(v0)
  v2: float32[2,3,16] = reshape(v1; shape=(2, 3, 16))
  return v2
plan
  call
  check values
"""
    case = parse_case(text)
    blobs: dict[str, Array] = {}

    def keeps(attempt: Case) -> bool:
        ops = [node.op for node in attempt.graph.nodes]
        return ops == ["reshape", "sqrt", "reshape"]

    small = minimise(case, blobs, keeps, budget=Budget(attempts=2000, seconds=1e9))
    assert [one.type.elements for one in small.graph.inputs] == [1]  # type: ignore[union-attr]


def test_what_leads_there_and_back_goes_at_once() -> None:
    text = """case 1
graph folded
  input x: float32[2,3] = normal(seed=1, mean=0.0, std=1.0)
  v0: float32[2,3] = tanh(x)
  v1: float32[6] = reshape(v0; shape=(6,))
  v2: float32[3,2] = reshape(v1; shape=(3, 2))
  v3: float32[2,3] = reshape(v2; shape=(2, 3))
  v4: float32[2,3] = sqrt(v3)
  return v4
plan
  call
  check values
"""
    case, tried = parse_case(text), list[list[str]]()
    for attempt in PASSES["bypass"](case, {}):
        tried.append([node.op for node in attempt.graph.nodes])
    assert ["tanh", "sqrt"] in tried
    assert ["sqrt"] in tried


def test_suspects_are_tried_first() -> None:
    asked: list[list[str]] = []

    def keeps(attempt: Case) -> bool:
        asked.append([node.op for node in attempt.graph.nodes])
        return "sqrt" in asked[-1]

    minimise(parse_case(CHAIN), {}, keeps, budget=Budget(attempts=1), suspects=("v2",))
    assert asked == [["sqrt"]]


def test_a_write_that_does_not_matter_goes() -> None:
    text = """case 1
graph written
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0)
  v0: float32[2,3] = clone(x)
  v1: float32[3] = select(v0; dim=0, index=0) views v0
  v2: float32[3] = exp_(v1) writes v1
  v3: float32[6] = reshape(v0; shape=(6,)) views v0
  v4: float32[6] = sqrt_(v3) writes v3
  return v4
plan
  call
  check values
"""

    def keeps(attempt: Case) -> bool:
        return any(node.op == "sqrt_" for node in attempt.graph.nodes)

    budget = Budget(attempts=2000, seconds=1e9)
    small = minimise(parse_case(text), {}, keeps, budget=budget)
    assert [node.op for node in small.graph.nodes] == ["sqrt_"]
