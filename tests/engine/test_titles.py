"""What a finding is called: the public API where the program is one call of it."""

from __future__ import annotations

import pytest

from engine.finding import Localised
from engine.ir.case import Case
from engine.ir.text import parse_case, parse_graph
from engine.oracles.verdict import Divergence, Kind
from engine.report import accused_op, title_of

RELU = """graph g
  input x: float32[2] = [1.0, -1.0]
  v: float32[2] = relu(x)
  return v
"""
# MindSpore has no such call; its form is a formula of several.
ATTENTION = """graph g
  input q: float32[1,2,3,4] = normal(seed=0)
  input k: float32[1,2,3,4] = normal(seed=1)
  input v: float32[1,2,3,4] = normal(seed=2)
  a: float32[1,2,3,4] = scaled_dot_product_attention(q, k, v, none; gqa=false, is_causal=false)
  return a
"""
# What a region calls is not what raised.
MAP = """graph g
  input x: float32[2] = [1.0, -1.0]
  v: (float32[2]) = map(x) bound 1
    body (c: float32[2])
      b: float32[2] = relu(c)
      yield b
  a: float32[2] = item(v; index=0)
  return a
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (RELU, "mindspore.ops.relu"),
        (ATTENTION, "scaled_dot_product_attention"),
        (MAP, "map"),
    ],
)
def test_a_formula_is_called_by_its_operator_and_a_call_by_its_api(text: str, name: str) -> None:
    graph = parse_graph(text)
    divergence = Divergence(Kind.VALUES, "mindspore", ("mindspore-pynative",), value="a")
    assert title_of(divergence, graph) == f"{name}: MindSpore PyNative gave wrong values"


def test_a_formula_in_which_one_call_raised_is_called_by_that() -> None:
    graph = parse_graph(
        "graph g\n  input x: float32[1,1] = [1.0]\n  a: float32[1,1] = solve(x, x)\n  return a\n"
    )
    modes = ("mindspore-pynative",)
    entered = ("inverse", "__call__")
    divergence = Divergence(Kind.DOCUMENTED, "mindspore", modes, node="a", entered=entered)
    assert title_of(divergence, graph).startswith("mindspore.ops.inverse: MindSpore PyNative ")
    elsewhere = Divergence(Kind.DOCUMENTED, "mindspore", modes, node="a", entered=("__call__",))
    assert title_of(elsewhere, graph).startswith("solve: ")


def test_a_title_says_what_a_reader_of_the_script_sees() -> None:
    graph = parse_graph(
        "graph g\n  input x: float32[2,2] = [1.0, 1.0, 2.0, 2.0]\n"
        "  a: float32[2,2] = sign(x) as mindspore:function_sgn\n"
        "  b: float32[2] = select(a; dim=0, index=0) as mindspore:builtin views a\n"
        "  return b\n"
    )
    divergence = Divergence(Kind.STRUCTURE, "mindspore", ("mindspore-graph",))
    assert title_of(divergence, graph).startswith("sgn + next(iter(x)): MindSpore Graph mode ")


def test_an_output_beside_the_loss_is_what_poisons_its_gradient() -> None:
    case = parse_case(
        "case 1\ngraph g\n  input x: float32[2] = [0.0, 1.0] requires_grad\n"
        "  a: float32[2] = rsqrt(x)\n  b: float32[2] = neg(x)\n  return a, b\n"
        "plan\n  call\n  gradient reverse\n  loss 1\n  check values gradients\n"
    )
    modes = ("torch-aot",)
    divergence = Divergence(Kind.GRADIENT_NONFINITE, "torch", modes, value="gradient of x")
    assert accused_op(divergence, case, []) == "rsqrt"
    lost = Divergence(Kind.VALUES, "torch", modes, value="b")
    assert accused_op(lost, case, []) == "neg"


LOST = """graph g
  input x: float32[2] = [1.0, -1.0]
  a: float32[2] = clone(x)
  b: float32[2] = sub_(a, x) writes a
  c: float32[2] = mul(b, x)
  return c
"""


@pytest.mark.parametrize(
    ("places", "op"),
    [
        ([("backward", "x", "mul"), ("forward", "b", "sub_")], "sub_"),
        ([("backward", "x", "clone")], "mul"),
    ],
)
def test_a_gradient_of_a_wrong_value_accuses_what_made_the_value(
    places: list[tuple[str, str, str]], op: str
) -> None:
    graph = parse_graph(LOST)
    modes = ("mindspore-pynative",)
    divergence = Divergence(Kind.GRADIENT, "mindspore", modes, value="gradient of x")
    located = [Localised(way, modes[0], value, made, "") for way, value, made in places]
    assert accused_op(divergence, Case(graph), located) == op


def test_a_call_that_was_given_something_wrong_is_not_the_one_that_is_accused() -> None:
    graph = parse_graph(LOST)
    modes = ("mindspore-graph",)
    divergence = Divergence(Kind.RAISES, "mindspore", modes, node="c")
    located = [Localised("forward", modes[0], "b", "sub_", "is 2 values where one is promised")]
    assert accused_op(divergence, Case(graph), located) == "sub_"
