import pytest
from hypothesis import given, settings

from engine.errors import InvalidGraph
from engine.ir.case import Case, Plan
from engine.ir.check import check
from engine.ir.graph import Graph, Input, Node
from engine.ir.text import parse_case
from engine.ir.types import Dense
from tests.strategies import cases

GOOD = """case 1
graph g
  input x: float32[2,3] = normal(seed=0) requires_grad alias=one
  input y: float32[3,2] = normal(seed=0) alias=one
  constant k: int64[2] = [1, 2]
  v0: float32[2,3] = neg(x; a=1) views x
  v1: float32[2,3] = add_(v0, x) writes v0
  v2: float32[2,3] = while(v1) bound 4
    body (c: float32[2,3]) captures (w = x)
      b0: float32[2,3] = add(c, w)
      yield b0
  return v1, v2
plan
  call y: float32[4] = normal(seed=1)
  gradient reverse
"""


def test_well_formed_case_passes() -> None:
    check(parse_case(GOOD))


@given(cases())
@settings(max_examples=60)
def test_drawn_case_passes(case: Case) -> None:
    check(case)
    assert case.graph.outputs


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("neg(x;", "neg(v2;", "cycle: v0 and v2 use each other"),
        ("neg(x;", "neg(v0;", "cycle: v0 uses itself"),
        ("neg(x; a=1) views x", "neg(zz)", "v0 uses zz, which is not defined"),
        ("add_(v0, x)", "add_(v0, v3)", "v1 uses v3, which is not defined"),
        ("v1: float32[2,3] = add_", "v0: float32[2,3] = add_", "v0 is defined twice"),
        ("input y", "input x", "x is defined twice"),
        ("while(v1)", "while(v0)", "v2 uses v0, which v1 has overwritten: expected the version v1"),
        ("return v1, v2", "return v0, v2", "the graph returns v0, which v1 has overwritten"),
        ("return v1, v2", "return v1, v9", "the graph returns v9, which is not defined"),
        ("return v1, v2", "return", "the graph returns nothing"),
        (" bound 4", "", "v2: a body with bound None, expected the most iterations"),
        (" bound 4", " bound -1", "v2: a body with bound -1"),
        ("views x", "views y", "v0: views y, which is not one of its operands"),
        ("views x", "bound 3", "v0: bound 3, but no body"),
        ("[1, 2]", "[1, 2, 3]", "k: 3 values written out, expected 2"),
        ("[1, 2]", "[1, 0.5]", "k: values that are not whole numbers in int64"),
        ("[1, 2]", "[1, 2] requires_grad", "k: requires a gradient, but is int64"),
        ("[1, 2]", "[1, 2] layout=wild", "k: layout wild, expected contiguous"),
        ("input y: float32[3,2]", "input y: float32[3,3]", "y aliases x, whose dtype or size"),
        ("input y: float32[3,2]", "input y: float32[3,-2]", "has a negative extent"),
        ("input y: float32[3,2]", "input y: float32[<=3,2]", "an input has a dynamic extent"),
        ("input y: float32[3,2]", "input y: float32[3,2]{1}", "has 1 strides, expected 2"),
        ("neg(x; a=1)", "neg(x; views=1)", ""),
        ("captures (w = x)", "captures (w = v7)", "v2 uses v7, which is not defined"),
        ("add(c, w)", "add(c, x)", "b0 uses x, which its body does not define"),
        ("yield b0", "yield v1", "a body of v2 yields v1, not defined there"),
        ("captures (w = x)", "captures (c = x)", "c in a body of v2 is defined twice"),
        ("body (c:", "body (v1:", "v1 in a body of v2 is defined twice"),
        ("call y:", "call q:", "call 0 gives q, not an input of the graph"),
        ("gradient reverse", "loss 2", "the loss uses output 2, expected 0 to 1"),
    ],
)
def test_fault_is_named(old: str, new: str, message: str) -> None:
    assert old in GOOD
    case = parse_case(GOOD.replace(old, new, 1))
    if not message:
        check(case)
        return
    with pytest.raises(InvalidGraph) as caught:
        check(case)
    assert message in str(caught.value)


def test_message_shows_the_lines_round_the_fault() -> None:
    with pytest.raises(InvalidGraph) as caught:
        check(parse_case(GOOD.replace("neg(x;", "neg(zz;").replace("views x", "")))
    assert str(caught.value).splitlines() == [
        "v0 uses zz, which is not defined",
        "     3 |   input y: float32[3,2] = normal(seed=0) alias=one",
        "     4 |   constant k: int64[2] = [1, 2]",
        ">    5 |   v0: float32[2,3] = neg(zz; a=1)",
        "     6 |   v1: float32[2,3] = add_(v0, x) writes v0",
        "     7 |   v2: float32[2,3] = while(v1) bound 4",
    ]


def test_fault_in_a_body_points_at_its_line() -> None:
    with pytest.raises(InvalidGraph, match=r">    9 \|       b0: float32"):
        check(parse_case(GOOD.replace("add(c, w)", "add(c, x)")))


def test_use_before_definition_is_not_called_a_cycle() -> None:
    of = Dense("float32", ())
    nodes = (Node("a", "neg", ("b",), of), Node("b", "neg", ("x",), of))
    with pytest.raises(InvalidGraph, match="a uses b before it is defined"):
        check(Graph("g", (Input("x", of),), nodes, ("b",)))


@pytest.mark.parametrize("name", ["", "a b", "1a", "none", "nan", "ä"])
def test_value_with_a_name_that_cannot_be_read_back_is_refused(name: str) -> None:
    of = Dense("float32", ())
    with pytest.raises(InvalidGraph, match="not a name"):
        check(Graph("g", (Input("x", of),), (Node(name, "neg", ("x",), of),), ("x",)))


def test_plan_without_a_call_is_refused() -> None:
    case = parse_case(GOOD)
    with pytest.raises(InvalidGraph, match="makes no call"):
        check(Case(case.graph, Plan(calls=())))
