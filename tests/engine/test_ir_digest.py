import re

import numpy as np
import pytest
from hypothesis import given, settings

from engine.ir.case import Case
from engine.ir.digest import blob_digest, case_digest, digest
from engine.ir.graph import Graph
from engine.ir.text import parse_case, parse_graph, print_case, print_graph
from tests.strategies import cases, graphs

TEXT = """case 1
graph g
  input x: float32[2,3] = normal(seed=0) alias=one
  input y: float32[2,3] = normal(seed=0) alias=one
  v0: float32[2,3] = add(x, y; alpha=1, beta=2)
  v1: float32[2,3] = while(v0) bound 4
    body (c: float32[2,3]) captures (w = x)
      b0: float32[2,3] = add(c, w)
      yield b0
  return v1, v0
plan
  call x: float32[4] = normal(seed=1)
"""


def renamed(text: str) -> str:
    """The text with another name for every value, group and graph."""
    return re.sub(r"\b(x|y|v0|v1|c|w|b0|one|g)\b", r"other_\1", text)


def test_digest_of_the_example_never_changes() -> None:
    assert digest(parse_case(TEXT).graph) == digest(parse_case(TEXT).graph)
    assert re.fullmatch("[0-9a-f]{64}", case_digest(parse_case(TEXT)))


def test_names_do_not_matter() -> None:
    assert renamed(TEXT) != TEXT
    assert case_digest(parse_case(renamed(TEXT))) == case_digest(parse_case(TEXT))


def test_order_of_attributes_does_not_matter() -> None:
    other = TEXT.replace("alpha=1, beta=2", "beta=2, alpha=1")
    assert case_digest(parse_case(other)) == case_digest(parse_case(TEXT))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add(x, y;", "add(y, x;"),
        ("alpha=1", "alpha=1.0"),
        ("alpha=1", "alpha=true"),
        ("add(c, w)", "add(w, c)"),
        ("bound 4", "bound 5"),
        ("return v1, v0", "return v0, v1"),
        ("alias=one\n  v0", "\n  v0"),
        ("seed=0) alias=one\n  input", "seed=2) alias=one\n  input"),
        ("beta=2)", "beta=2) as torch:method"),
        ("beta=2)", "beta=2) views x"),
        ("x: float32[2,3] =", "x: float32[2,3]{1,2} ="),
        ("captures (w = x)", "captures (w = y)"),
    ],
)
def test_structure_matters(old: str, new: str) -> None:
    assert old in TEXT
    assert digest(parse_case(TEXT.replace(old, new)).graph) != digest(parse_case(TEXT).graph)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("call x: float32[4]", "call y: float32[4]"),
        ("call x: float32[4]", "call x: float32[5]"),
        ("call x", "gradient reverse\n  call x"),
        ("case 1", "case 1\nclaim changing"),
    ],
)
def test_plan_and_claim_matter_to_the_case_alone(old: str, new: str) -> None:
    one, other = parse_case(TEXT), parse_case(TEXT.replace(old, new))
    assert digest(one.graph) == digest(other.graph)
    assert case_digest(one) != case_digest(other)


@given(cases())
@settings(max_examples=40)
def test_digest_survives_the_text_form(case: Case) -> None:
    assert case_digest(parse_case(print_case(case))) == case_digest(case)


@given(graphs(), graphs())
@settings(max_examples=40)
def test_graphs_of_one_digest_have_one_structure(one: Graph, other: Graph) -> None:
    if digest(one) == digest(other):
        assert len(one.nodes) == len(other.nodes)
        assert [node.op for node in one.nodes] == [node.op for node in other.nodes]
    assert digest(parse_graph(print_graph(one))) == digest(one)


def test_blob_digest_is_of_the_bytes_in_row_major_order() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert blob_digest(array) == blob_digest(array.copy(order="F"))
    assert blob_digest(array) != blob_digest(array.T)
    assert blob_digest(np.zeros(0)) == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
