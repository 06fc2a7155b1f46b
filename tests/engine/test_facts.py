"""Facts of values in words: from a recording, else from the type, else unknown."""

from __future__ import annotations

import pytest

from engine.executors.outcome import Answer
from engine.facts import FACTS, UNKNOWN, facts_in_words
from engine.ir.text import parse_graph

GRAPH = parse_graph("""graph views
  input x: float32[2,3] = normal(seed=0)
  weight w: float32[3] = normal(seed=1) requires_grad
  a: float32[3,2] = permute(x; dims=(1, 0)) views x
  b: float32[2,3] = add(x, w)
  t: (float32[2,2], float32[2,1]) = split(x; dim=1, sizes=(2, 1)) views x
  c: float32[2,2] = item(t; index=0)
  return a, b, c
""")
SUMMARY = {"size": 6.0, "nans": 1.0, "infs": 2.0, "mean": 0.25, "std": 1.5, "min": -2.0, "max": 3.0}
RECORDED = {
    "x": Answer("float32", (2, 3), strides=(3, 1), offset=0, shares=(), summary=SUMMARY),
    "a": Answer("float32", (3, 2), strides=(1, 3), offset=4, shares=("x",), is_view=True),
    "b": Answer("float32", (2, 3), strides=(3, 1), offset=0, shares=(), requires_grad=True),
}


def test_a_recorded_value_is_described_in_full() -> None:
    assert facts_in_words(GRAPH, RECORDED)["x"] == {
        "dtype": "float32",
        "shape": "[2, 3]",
        "strides": "[3, 1]",
        "layout": "contiguous",
        "alias": "own storage, offset 0",
        "gradient": "not required",
        "values": "mean 0.25, std 1.5, min -2, max 3, NaN 1, Inf 2",
    }


def test_a_view_names_whose_storage_it_is_and_where() -> None:
    found = facts_in_words(GRAPH, RECORDED)["a"]
    assert (found["alias"], found["layout"]) == ("storage of x, offset 4, view", "strided")
    assert found["values"] == UNKNOWN


def test_gradients_of_inputs_are_as_declared_and_of_results_as_recorded() -> None:
    found = facts_in_words(GRAPH, RECORDED)
    assert found["w"]["gradient"] == "required, leaf"
    assert found["b"]["gradient"] == "required"


def test_a_recording_without_gradients_says_nothing_of_what_depends_on_weights() -> None:
    plain = {"b": Answer("float32", (2, 3), requires_grad=False)}
    assert facts_in_words(GRAPH, plain)["b"]["gradient"] == UNKNOWN


def test_without_a_recording_the_type_speaks_and_the_rest_is_unknown() -> None:
    found = facts_in_words(GRAPH, {})["a"]
    assert (found["dtype"], found["shape"]) == ("float32", "[3, 2]")
    assert {found[name] for name in ("strides", "layout", "values")} == {UNKNOWN}
    assert found["alias"] == "view, storage unknown"


@pytest.mark.parametrize("recorded", [{}, RECORDED])
def test_every_value_has_every_fact(recorded: dict[str, Answer]) -> None:
    found = facts_in_words(GRAPH, recorded)
    assert list(found) == list(GRAPH.types)
    assert all(tuple(one) == FACTS for one in found.values())
    assert found["t"]["dtype"] == "tuple"


def test_no_elements_are_said_to_be_none() -> None:
    nothing = {"x": Answer("float32", (2, 3), summary={"size": 0.0})}
    assert facts_in_words(GRAPH, nothing)["x"]["values"] == "no elements"
