"""When a mutant is dead: its outputs do not depend on inputs, or say nothing any more."""

from __future__ import annotations

import numpy as np
import pytest

from engine.alive import why_dead
from engine.executors.outcome import Answer
from engine.ir.graph import Graph
from engine.ir.text import parse_graph

PARENT = """
graph g
  input x: float32[4] = normal(seed=0, mean=0.0, std=1.0)
  weight w: float32[4] = normal(seed=1, std=0.1)
  a: float32[4] = mul(x, w)
  y: float32[4] = neg(a)
  return y
"""
LIVE = {"size": 4.0, "nans": 0.0, "infs": 0.0, "std": 1.0}


def graph(text: str = PARENT) -> Graph:
    return parse_graph(text)


def facts(**changes: float) -> dict[str, Answer]:
    return {"y": Answer("float32", (4,), np.zeros(4), summary={**LIVE, **changes})}


def why(mutant: Graph, **changes: float) -> str:
    return why_dead(graph(), facts(), mutant, facts(**changes))


def test_a_mutant_like_its_parent_is_alive() -> None:
    assert why(graph()) == ""


def test_an_output_that_no_input_reaches_is_dead() -> None:
    assert "no longer depends on an input" in why(graph(PARENT.replace("mul(x, w)", "mul(w, w)")))


@pytest.mark.parametrize("count", ["nans", "infs"])
def test_values_that_are_not_finite_are_death(count: str) -> None:
    assert "2 values that are not finite" in why(graph(), **{count: 2.0})


def test_the_same_value_everywhere_is_death() -> None:
    assert "the same value everywhere" in why(graph(), std=0.0)


def test_what_the_parent_had_already_is_no_death() -> None:
    before = facts(std=0.0, nans=1.0)
    assert why_dead(graph(), before, graph(), before) == ""


def test_a_single_number_is_not_constant() -> None:
    assert why(graph(), size=1.0, std=0.0) == ""


def test_a_further_output_is_free() -> None:
    mutant = graph(PARENT.replace("return y", "k: float32[4] = neg(w)\n  return y, k"))
    assert why(mutant) == ""


@pytest.mark.parametrize("read", ["d", "c"])
def test_a_write_brings_what_it_reads(read: str) -> None:
    """Also where the storage is read by another name afterwards."""
    text = f"""
graph g
  input x: float32[4] = normal(seed=0, mean=0.0, std=1.0)
  weight w: float32[4] = normal(seed=1, std=0.1)
  c: float32[4] = clone(w)
  v: float32[4] = view(c; shape=(4,)) views c
  d: float32[4] = add_(v, x) writes v
  y: float32[4] = neg({read})
  return y
"""
    assert why(graph(text)) == ""
