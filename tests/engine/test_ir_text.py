import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.ir.case import Case
from engine.ir.graph import Graph, Input, Literal
from engine.ir.text import (
    parse_case,
    parse_graph,
    parse_input,
    parse_type,
    print_attr,
    print_case,
    print_graph,
    print_input,
    print_type,
)
from engine.ir.types import Csr, Dense, Dynamic, Scalar, Tuple, Type
from tests.strategies import attrs, cases, graphs, types

EXAMPLE = f"""case 1
claim preserving

graph convnext
  input x: float32[1,3,32,32] = normal(seed=0, mean=0.0, std=1.0) requires_grad
  weight w0: float32[8,3,4,4] = normal(seed=1, std=0.1)
  constant pos: int64[16] = formula arange(start=0, step=1)
  constant k: float32[2] = [1.0, nan]
  input m: bool[4] = blob {"9f86d081" * 8} layout=strided alias=g1
  v0: float32[1,8,8,8] = conv2d(x, w0, none; stride=(4, 4), padding="same")
  v1: float32[1,8,8,8] = relu(v0) as torch:method mindspore:primitive
  v2: float32[1,8,64] = reshape(v1; shape=(1, 8, 64)) views v1
  v3: float32[1,8,64] = add_(v2, v2) writes v2
  t4: (float32[1,4,64], float32[1,4,64]) = split(v3; sizes=(4, 4), dim=1)
  v5: float32[1,4,64] = item(t4; index=0)
  v6: float32[1,4,64] = while(v5) bound 4
    body (c: float32[1,4,64]) captures (w = v1)
      b0: float32[1,4,64] = add(c, c)
      yield b0
  return v5, v6

plan
  call
  call x: float32[2,3,32,32] = normal(seed=7)
  gradient reverse
  loss 0
  check values gradients state
"""


def test_example_of_the_documentation_prints_as_it_was_written() -> None:
    assert print_case(parse_case(EXAMPLE)) == EXAMPLE


@given(cases())
@settings(max_examples=60)
def test_case_comes_back_from_its_text(case: Case) -> None:
    text = print_case(case)
    assert parse_case(text) == case
    assert print_case(parse_case(text)) == text


@given(graphs())
@settings(max_examples=60)
def test_graph_comes_back_from_its_text(graph: Graph) -> None:
    assert parse_graph(print_graph(graph)) == graph


@given(types)
def test_type_comes_back_from_its_text(of: Type) -> None:
    assert parse_type(print_type(of)) == of


@given(attrs)
def test_attribute_value_is_printed_with_its_python_type(value: object) -> None:
    text = f"v: float32[] = f(; a={print_attr(value)})"  # type: ignore[arg-type]
    graph = parse_graph(f"graph g\n{text}\nreturn v")
    found = graph.nodes[0].attr("a")
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("float32[2,3]", Dense("float32", (2, 3))),
        ("float32[2,3]{1,2}", Dense("float32", (2, 3), (1, 2))),
        ("bfloat16[]", Dense("bfloat16", ())),
        ("float32[<=6,3]", Dense("float32", (Dynamic(6), 3))),
        ("csr float32[4,5] nnz 8 int32", Csr("float32", (4, 5), 8, "int32")),
        ("scalar int", Scalar("int")),
        ("(bool[1], scalar float)", Tuple((Dense("bool", (1,)), Scalar("float")))),
        ("(bool[1],)", Tuple((Dense("bool", (1,)),))),
    ],
)
def test_type_is_written_as_documented(text: str, of: Type) -> None:
    assert parse_type(text) == of
    assert print_type(of) == text


def test_special_floats_and_complex_values_are_written_out() -> None:
    given_input = parse_input("x: complex64[3] = [complex(nan, -inf), complex(-0.0, 1e-45), 2]")
    assert isinstance(given_input.init, Literal)
    assert repr(given_input.init.values) == "((nan-infj), (-0+1e-45j), 2)"
    assert print_input(parse_input(print_input(given_input))) == print_input(given_input)


def test_words_of_the_grammar_may_name_values() -> None:
    text = (
        "graph graph\n  input input: float32[]  = normal(seed=0)\n  return: float32[] = f(input)\n"
        "  weight: float32[] = f(return)\n  return return, weight\n"
    )
    graph = parse_graph(text)
    assert graph.outputs == ("return", "weight")
    assert parse_graph(print_graph(graph)) == graph


def test_comments_and_blank_lines_are_ignored() -> None:
    text = EXAMPLE.replace("  return v5", "\n  # what comes back\n\n  return v5")
    assert parse_case(text) == parse_case(EXAMPLE)


def test_input_without_an_initialiser_is_drawn_from_the_first_seed() -> None:
    assert parse_input("x: float32[2]") == Input("x", Dense("float32", (2,)))


@pytest.mark.parametrize(
    ("old", "new", "line", "seen", "expected"),
    [
        ("case 1", "case 2", 1, '"2"', "version 1 of the format"),
        ("claim preserving", "claim good", 2, '"good"', "a claim"),
        ("graph convnext", "model convnext", 4, '"model"', '"graph"'),
        ("float32[1,3,32,32]", "float31[1,3,32,32]", 5, '"float31"', "a type"),
        ("float32[1,3,32,32]", "float32[1,3,32,32", 5, '"="', '"]"'),
        ("normal(seed=0,", "normal(", 5, '"requires_grad"', "a whole number as its seed"),
        ("seed=1, std=0.1", "seed=1, seed=2", 6, '"seed"', "each attribute once"),
        ("[1.0, nan]", '[1.0, "nan"]', 8, '""nan""', "a number"),
        ("blob 9f86d081", "blob 9f86", 9, '"9"', "a digest of 64 hexadecimal digits"),
        ("layout=strided", "layuot=strided", 9, '"layuot"', '"layout"'),
        ("relu(v0)", "relu(v0", 11, '"as"', '","'),
        ("as torch:method", "as torch.method", 11, "", "a token"),
        ("relu(v0) as", "relu(true) as", 11, '"true"', "the name of a value"),
        (": float32[1,8,64] = reshape", " = reshape", 12, '"="', '":"'),
        ("bound 4", "bound many", 16, '"many"', "the most iterations"),
        ("gradient reverse", "gradient backward", 25, '"backward"', "a kind of gradient"),
        ("loss 0", "loss first", 26, '"first"', "position of an output"),
        ("check values", "check weather", 27, '"weather"', "a check"),
        ("  loss 0", "  lose 0", 26, '"lose"', '"call", "gradient", "loss" or "check"'),
        ('padding="same"', 'padding="\\q"', 10, '"\\q"', "escapes of JSON"),
    ],
)
def test_error_names_line_seen_and_expected(
    old: str, new: str, line: int, seen: str, expected: str
) -> None:
    assert old in EXAMPLE
    with pytest.raises(BadInput) as caught:
        parse_case(EXAMPLE.replace(old, new, 1))
    assert caught.value.thing.startswith(f"line {line}")
    assert seen in str(caught.value.seen)
    assert expected in caught.value.expected


@given(st.integers(0, len(EXAMPLE) - 1))
@settings(max_examples=150)
def test_text_cut_anywhere_is_bad_input_or_a_shorter_case(length: int) -> None:
    try:
        case = parse_case(EXAMPLE[:length])
    except BadInput as error:
        assert error.thing.startswith("line ")  # noqa: PT017 (either way is right)
    else:
        assert case.graph.nodes == parse_case(EXAMPLE).graph.nodes


@given(st.integers(0, len(EXAMPLE) - 1), st.characters(codec="utf-8"))
@settings(max_examples=150)
def test_text_with_one_wrong_character_never_breaks_the_parser(at: int, wrong: str) -> None:
    try:
        case = parse_case(EXAMPLE[:at] + wrong + EXAMPLE[at + 1 :])
    except BadInput as error:
        assert "expected" in str(error)  # noqa: PT017 (either way is right)
    else:
        assert case == parse_case(print_case(case))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "case 1\n"])
def test_text_without_a_graph_says_where_it_ends(text: str) -> None:
    with pytest.raises(BadInput, match="the end of the text"):
        parse_case(text)
