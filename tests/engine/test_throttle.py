"""Duplicates are known before they are minimised, in a chain and between those of a campaign."""

from __future__ import annotations

from collections import Counter

from engine.finding import Localised
from engine.ir.text import parse_case
from engine.oracles.verdict import Divergence, Kind
from engine.throttle import (
    LOOKS,
    MEMBERS,
    Coarse,
    Throttle,
    coarse_key,
    family_of_coarse,
    quick_key,
)

GRAPH = parse_case(
    """case 1
graph calls
  input x: float32[2] = [1.0, 2.0]
  v0: float32[2] = clone(x)
  v1: float32[2] = exp_(v0) as mindspore:method writes v0
  v2: float32[2] = relu(v1)
  return v2
plan
  call
  check values
"""
).graph
WRONG = Divergence(Kind.VALUES, "torch", ("torch-aot",), value="v2")
LOST = Divergence(Kind.WRITE_LOST, "mindspore", ("mindspore-pynative",), value="v1")
RAISED = Divergence(Kind.RAISES, "torch", ("torch-aot",), node="v2", message="E: a | b")


def lost(op: str) -> Coarse:
    return Coarse(f"{LOST.key}|{op}.method", f"{LOST.key}|{op}.inplace")


def wrong(op: str, form: str = "function") -> Coarse:
    return Coarse(f"{WRONG.key}|{op}.{form}", f"{WRONG.key}|{op}.function")


def test_a_verdict_names_the_call_that_raised_and_only_guesses_at_a_wrong_value() -> None:
    assert quick_key(RAISED, GRAPH) == (f"{RAISED.key}|relu.function", True)
    assert quick_key(WRONG, GRAPH) == (f"{WRONG.key}|relu.function", False)


def test_the_coarse_key_is_of_the_call_where_the_failure_was_localised() -> None:
    place = Localised("forward", "torch-aot", "v0", "clone", "is 1")
    assert coarse_key(WRONG, (place,), GRAPH).key == f"{WRONG.key}|clone.function"
    assert coarse_key(WRONG, (), GRAPH).key == f"{WRONG.key}|"
    backward = Localised("backward", "torch-aot", "v1", "relu", "is 1")
    assert coarse_key(WRONG, (backward,), GRAPH).key == f"{WRONG.key}|relu.function"
    assert coarse_key(LOST, (), GRAPH).key == lost("exp_").key


def test_of_many_wrong_gradients_in_one_round_a_few_are_looked_at() -> None:
    modes = ("torch-aot",)
    gradients = [
        Divergence(Kind.GRADIENT, "torch", modes, value=f"gradient of w{place}")
        for place in range(50)
    ]
    seen = [one for one, _ in Throttle(Counter()).worth_a_look([RAISED, *gradients, LOST], GRAPH)]
    assert seen == [RAISED, *gradients[:LOOKS], LOST]


def test_a_coarse_key_is_minimised_once() -> None:
    throttle = Throttle(Counter())
    assert throttle.admits(wrong("relu"))
    throttle.note_minimised(wrong("relu").key)
    assert not throttle.admits(wrong("relu"))
    assert throttle.admits(wrong("clone"))


def test_a_call_that_fails_in_its_plain_form_is_not_minimised_in_others() -> None:
    throttle = Throttle(Counter())
    throttle.note_minimised(wrong("relu", "method").key, wrong("relu").key)
    assert not throttle.admits(wrong("relu", "module"))
    throttle.note_minimised(wrong("tanh", "method").key)
    assert throttle.admits(wrong("tanh", "module"))
    assert throttle.admits(wrong("tanh"))


def test_a_thousand_duplicates_are_admitted_once() -> None:
    throttle, admitted = Throttle(Counter()), 0
    for number in range(1000):
        seen = wrong("relu", ("function", "method", "module")[number % 3])
        if throttle.admits(seen):
            admitted += 1
            throttle.note_minimised(seen.key, wrong("relu").key)
    assert admitted == 1


def test_a_few_members_of_a_family_are_minimised() -> None:
    throttle = Throttle(Counter())
    names = ["add_", "sub_", "mul_", "exp_", "neg_", "abs_", "log_"]
    admitted = []
    for name in names:
        if throttle.admits(lost(name)):
            throttle.note_minimised(lost(name).key)
            admitted.append(name)
    assert admitted == names[:MEMBERS]
    assert throttle.admits(wrong("relu"))


def test_what_others_of_the_campaign_have_on_record_is_not_minimised_again() -> None:
    record = [lost("add_").key]
    throttle = Throttle(Counter(), lambda: record)
    assert not throttle.admits(lost("add_"))
    assert throttle.admits(lost("sub_"))
    record += [lost("sub_").key, lost("mul_").key]
    assert not throttle.admits(lost("exp_"))


def test_failures_without_a_call_are_told_apart_by_nothing_so_a_few_are_minimised() -> None:
    throttle = Throttle(Counter())
    nowhere, count = Coarse(f"{WRONG.key}|", f"{WRONG.key}|"), 0
    while throttle.admits(nowhere):
        throttle.note_minimised(nowhere.key)
        count += 1
    assert count == MEMBERS
    assert not Throttle(Counter(), lambda: [nowhere.key] * MEMBERS).admits(nowhere)


def test_a_confirmed_call_is_not_looked_at_again_and_a_guess_a_few_times() -> None:
    throttle = Throttle(Counter())
    throttle.note_confirmed("a")
    assert not throttle.is_worth_a_look("a", is_certain=True)
    looks = [throttle.is_worth_a_look("b", is_certain=False) for _ in range(10)]
    assert sum(looks) == LOOKS


def test_a_message_with_bars_keeps_its_family() -> None:
    one, two = f"{RAISED.key}|amax.method", f"{RAISED.key}|amin.method"
    assert family_of_coarse(one) == family_of_coarse(two)
    assert "E: a | b" in family_of_coarse(one)


def test_the_memory_survives_a_checkpoint() -> None:
    throttle = Throttle(Counter())
    throttle.note_minimised(lost("add_").key)
    assert throttle.is_new("s")
    again = Throttle(Counter(dict(throttle.known)))
    assert not again.admits(lost("add_"))
    assert not again.is_new("s")
