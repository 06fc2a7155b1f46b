"""Nodes with bodies: their types, what the interpreter answers, how they are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.errors import ConstraintViolated
from engine.executors.lowering import lower
from engine.executors.reference import evaluate
from engine.ir.types import dense
from engine.ops.typing import retype
from tests.control_cases import BODIES, control_case

X = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
W = np.array([[2.0, 0.5], [1.0, -1.0]], np.float32)


def answers(op: str) -> dict[str, np.ndarray]:
    return evaluate(control_case(op).graph, {"x": X, "w": W})  # type: ignore[return-value]


def test_map_runs_its_body_on_each_element() -> None:
    found = answers("map")
    np.testing.assert_array_equal(found["v.0"], X * W)
    np.testing.assert_array_equal(found["v.1"], W * W)


def test_filter_adds_up_the_elements_that_are_kept() -> None:
    np.testing.assert_array_equal(answers("filter")["v"], X + W)
    few = evaluate(control_case("filter").graph, {"x": X, "w": -W})
    np.testing.assert_array_equal(few["v"], X)


def test_scan_carries_a_value_and_shows_one_for_each_element() -> None:
    found = answers("scan")
    np.testing.assert_array_equal(found["v.1"], X * W + X)
    np.testing.assert_array_equal(found["v.0"], X * W * W)
    np.testing.assert_array_equal(found["v.2"], X * W * W + W)


@pytest.mark.parametrize("op", BODIES)
@pytest.mark.parametrize("framework", ["torch", "mindspore"])
def test_every_form_is_a_text_of_its_own(op: str, framework: str) -> None:
    forms = control_case(op).graph.by_name["v"]
    assert forms.op == op
    texts = {
        form: lower(control_case(op, framework, form), framework).source
        for form in BODIES[op][framework]
    }
    assert len(set(texts.values())) == len(texts)
    for source in texts.values():
        compile(source, "case", "exec")


def test_what_a_body_captures_is_carried_into_a_primitive_loop() -> None:
    source = lower(control_case("for", "mindspore", "primitive"), "mindspore").source
    assert "def body(turn, carried):" in source
    assert "c, w_ = carried" in source
    assert "v = ops.ForiLoop()(0, 2, body, (x, w))" in source
    assert "v = v[0]" in source


def test_elements_of_two_types_are_refused() -> None:
    graph = control_case("map").graph
    other = replace(graph.inputs[1], type=dense("float32", 3))
    with pytest.raises(ConstraintViolated, match="expected one type"):
        retype(replace(graph, inputs=(graph.inputs[0], other)))


def test_a_second_body_is_refused() -> None:
    graph = control_case("map").graph
    node = graph.by_name["v"]
    with pytest.raises(ConstraintViolated, match="2 bodies, expected 1"):
        retype(graph.with_node(replace(node, regions=node.regions * 2)))
