"""A finding is about its cause: the call that gave a wrong value, and a program that may be run."""

from __future__ import annotations

import pytest

from engine.executors.pool import Pool
from engine.ir.text import parse_case
from engine.oracles.verdict import Kind
from engine.trial import Bench
from tests.executors.discoveries import found_in

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.mindspore]

MODES = ("torch-eager", "mindspore-pynative", "mindspore-graph")
# Graph mode takes next(iter(x)) for the pair of the first element and the rest.
TEXT = """case 1
graph g
  input x: float32[1] = [1.0]
  a: float32[1] = next(x, x) views x
  b: float32[1] = {call}
  return b
plan
  call
  check values
"""


@pytest.mark.parametrize("call", ["relu(a)", "log(a)"])
def test_callers_of_one_cause_are_one_finding(pool: Pool, call: str) -> None:
    bench = Bench(pool, MODES)
    finding = found_in(bench, parse_case(TEXT.format(call=call)), Kind.RAISES)
    assert finding.accused_op == "next"
    assert finding.key == "numerical|mindspore|mindspore-graph|return structure|"
    assert finding.minimised_nodes == 1


def test_whoever_writes_to_what_is_no_tensor_is_not_accused(pool: Pool) -> None:
    text = """case 1
graph g
  input x: float32[1,1] = [1.0]
  input y: float32[1] = [1.0]
  a: float32[1,1] = clone(x)
  b: float32[1] = select(a; dim=0, index=0) as mindspore:builtin views a
  c: float32[1] = add_(b, y) as mindspore:inplace_assign writes b
  return a
plan
  call
  check values
"""
    finding = found_in(Bench(pool, MODES), parse_case(text), Kind.RAISES)
    assert finding.accused_op == "select"
    assert finding.title == "next(iter(x)): MindSpore Graph mode returned another structure"


def test_what_raises_alone_is_found_alone_whatever_other_modes_say_of_other_calls(
    pool: Pool,
) -> None:
    text = """case 1
graph g
  input x: float32[1] = [1.0]
  a: float32[1] = ones_like(x; dtype=none) as mindspore:mint
  b: float32[2,3,4] = expand(x; shape=(2, 3, 4)) as mindspore:method_expand views x
  return a, b
plan
  call
  check values
"""
    finding = found_in(Bench(pool, MODES), parse_case(text), Kind.DOCUMENTED, node="a")
    assert finding.minimised_nodes == 1
    assert finding.accused_op == "ones_like"
    assert finding.parts["calls"] == "ones_like.mint"
    assert "raises in one mode" in finding.key


def test_a_call_that_only_shows_what_another_has_wrong_is_not_accused(pool: Pool) -> None:
    """tanh(4) is off by 1.5e-5, within what is allowed; its inverse makes 0.01 of that."""
    text = """case 1
graph g
  input x: float32[1] = [4.0]
  a: float32[1] = tanh(x)
  b: float32[1] = atanh(a)
  return b
plan
  call
  check values
"""
    finding = found_in(Bench(pool, MODES), parse_case(text), Kind.VALUES)
    assert finding.accused_op == "tanh"
    assert "is off the answer to what it was given" in finding.localised[0].detail


def test_a_program_that_pytorch_runs_is_not_made_into_one_that_it_refuses(pool: Pool) -> None:
    """Without the copy a leaf is written to, which PyTorch refuses, and so may PyNative."""
    text = """case 1
graph g
  input x: float32[0,3] = normal(seed=0) requires_grad
  a: float32[0,3] = clone(x)
  b: float32[0,3] = abs_(a) as mindspore:inplace_assign writes a
  return b
plan
  call
  gradient reverse
  check values gradients
"""
    finding = found_in(Bench(pool, MODES), parse_case(text), Kind.GRADIENT_RAISES)
    assert finding.accused_modes == ("mindspore-pynative",)
    assert "clone(" in finding.minimised_text
