import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings

from engine.errors import BadInput, ConstraintViolated, InvalidGraph
from engine.ir.graph import Graph
from engine.ir.text import parse_graph, print_graph, print_node
from engine.ir.types import Dense, Tuple, dense
from engine.ops.typing import bind, check_types, infer_node, parse_body, retype, spec_of
from tests.sample_rows import sample_rows
from tests.strategies import operator_graphs


@pytest.fixture(autouse=True)
def rows() -> Iterator[None]:
    with sample_rows():
        yield


TYPES = {"x": dense("float32", 4, 3), "w": dense("float32", 5, 4)}


def body(text: str) -> list[str]:
    return [print_node(node) for node in parse_body(text, TYPES)]


def test_bare_body_gets_types_and_attributes() -> None:
    assert body("v = s_mix(x, w, none; rate=nan)\nu = s_neg(v)") == [
        'v: float32[5,3] = s_mix(x, w, none; mode="same", rate=nan, sizes=(2,))',
        "u: float32[5,3] = s_neg(v)",
    ]


def test_bare_body_gets_effects_and_items() -> None:
    assert body("t = s_halves(x)\na = item(t; index=1)\nb = s_add_(a, a)") == [
        "t: (float32[2,3], float32[2,3]) = s_halves(x) views x",
        "a: float32[2,3] = item(t; index=1)",
        "b: float32[2,3] = s_add_(a, a) writes a",
    ]


def test_bare_body_may_hold_a_loop() -> None:
    found = body(
        "v = for(x) bound 2\n  body (c: float32[1]) captures (k = x)\n"
        "    b: float32[1] = s_add_(c, k)\n    yield b"
    )
    assert "\n".join(found).splitlines() == [
        "v: float32[4,3] = for(x; trips=2) bound 2",
        "  body (c: float32[4,3]) captures (k = x)",
        "    b: float32[4,3] = s_add_(c, k) writes c",
        "    yield b",
    ]


def test_unknown_operator_is_named_with_the_closest() -> None:
    with pytest.raises(BadInput, match="operator of v: saw s_nag, expected s_neg"):
        body("v = s_nag(x)")


def test_unknown_value_is_named() -> None:
    with pytest.raises(BadInput, match="operand of v: saw y, expected one of x, w"):
        body("v = s_neg(y)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v = s_mix(x, w, none; speed=1)", "attributes .*speed"),
        ("v = s_neg(x, x)", "saw 2 operands, expected 1"),
        ("v = item(x; index=0)", "item: index 0 of"),
        ("v = s_halves(x)\nu = item(v; index=2)", "item: index 2 of"),
        ('h = s_cast(x; dtype="float16")\nv = s_add_(x, h)', "operand y has dtype float16"),
    ],
)
def test_refused_call_says_why(text: str, message: str) -> None:
    with pytest.raises(ConstraintViolated, match=message):
        body(text)


def test_body_that_changes_a_type_is_refused() -> None:
    text = (
        "v = for(x) bound 2\n  body (c: float32[4,3])\n"
        '    b: float16[4,3] = s_cast(c; dtype="float16")\n    yield b'
    )
    with pytest.raises(ConstraintViolated, match=r"for: the body yields .*float16"):
        body(text)


def test_condition_must_be_one_bool() -> None:
    text = (
        "v = while(x) bound 2\n  body (c: float32[4,3])\n    yield c\n"
        "  body (d: float32[4,3])\n    yield d"
    )
    with pytest.raises(ConstraintViolated, match="while: the condition is"):
        body(text)


def test_several_carried_values_are_a_tuple() -> None:
    text = "v = for(x, w) bound 2\n  body (c: bool[], d: bool[])\n    yield c, d"
    (node,) = parse_body(text, TYPES)
    assert node.type == Tuple((TYPES["x"], TYPES["w"]))


GRAPH = parse_graph(
    """graph g
  input x: float32[4,3] = normal(seed=0)
  input w: float32[5,4] = normal(seed=0)
  a: float32[4,3] = s_neg(x)
  b: float32[5,3] = s_mix(a, w, none; mode="same", rate=1.0, sizes=())
  c: float32[5] = s_max(b)
  d: float32[4,3] = s_neg(a)
  return c, d
"""
)


def test_retyping_a_right_graph_changes_nothing() -> None:
    assert retype(GRAPH) == GRAPH
    assert retype(GRAPH, ()) == GRAPH


def test_retyping_follows_a_changed_input() -> None:
    wide = replace(GRAPH.inputs[1], type=dense("float32", 7, 4))
    edited = replace(GRAPH, inputs=(GRAPH.inputs[0], wide))
    found = retype(edited, {"w"})
    assert found.types["b"] == Dense("float32", (7, 3))
    assert found.types["c"] == Dense("float32", (7,))
    assert found == retype(edited)
    assert found.nodes[0] is GRAPH.nodes[0]
    assert found.nodes[3] is GRAPH.nodes[3]


def test_retyping_stops_where_a_type_is_as_it_was() -> None:
    marked = GRAPH.with_node(replace(GRAPH.nodes[2], type=dense("float32", 99)))
    assert retype(marked, {"a"}).types["c"] == dense("float32", 99)
    assert retype(marked, {"c"}).types["c"] == dense("float32", 5)


def test_retyping_reaches_into_bodies() -> None:
    loop = parse_graph(
        "graph g\n  input x: float32[2] = normal(seed=0)\n"
        "  v: float32[2] = for(x; trips=1) bound 1\n    body (c: float32[2])\n"
        "      b: float32[2] = s_neg(c)\n      yield b\n  return v\n"
    )
    wide = replace(loop, inputs=(replace(loop.inputs[0], type=dense("float16", 3)),))
    (node,) = retype(wide, {"x"}).nodes
    assert node.type == dense("float16", 3)
    assert node.regions[0].nodes[0].type == dense("float16", 3)


def test_retyping_raises_where_an_operator_refuses() -> None:
    narrow = replace(GRAPH.inputs[1], type=dense("float16", 5, 4))
    with pytest.raises(ConstraintViolated, match="operand w has dtype float16"):
        retype(replace(GRAPH, inputs=(GRAPH.inputs[0], narrow)), {"w"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "d: float32[4,3]",
            "d: float32[4,4]",
            "d: saw d: float32[4,4] = .* expected d: float32[4,3]",
        ),
        ("s_neg(a)", "s_nag(a)", "operator of d: saw s_nag, expected s_neg"),
        ("s_neg(a)", "s_neg(a; k=1)", "attributes .*k"),
        ("s_neg(a)", "s_neg(a) views a", "saw d: .* views a, expected d"),
    ],
)
def test_graph_with_a_wrong_type_is_refused_with_its_lines(
    old: str, new: str, message: str
) -> None:
    check_types(GRAPH)
    with pytest.raises(InvalidGraph, match=re.escape(message).replace(r"\.\*", ".*")) as caught:
        check_types(parse_graph(print_graph(GRAPH).replace(old, new)))
    assert ">    7 |   d: " in str(caught.value)


def test_operands_stand_in_their_slots() -> None:
    mix = spec_of(GRAPH.nodes[1])
    assert bind(mix, ("a", "w", None)) == {"x": "a", "w": "w", "b": None}
    (join,) = parse_body("v = s_join(x, x, x)", TYPES)
    assert bind(spec_of(join), join.operands) == {"xs": ("x", "x", "x")}


@given(operator_graphs())
@settings(max_examples=60)
def test_retyping_a_drawn_graph_changes_nothing(graph: Graph) -> None:
    assert retype(graph).types == graph.types
    types = graph.types
    assert [infer_node(node, types) for node in graph.nodes] == [node.type for node in graph.nodes]
