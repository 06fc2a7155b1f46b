"""Failure keys and signatures: what makes two failures the same, and what does not.

A file of `tests/data/signatures` is a message as a framework wrote it, under a header that says its
type, what must become of it, and why.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ir.text import parse_case
from engine.ir.types import DTYPES
from engine.minimiser import renamed
from engine.oracles.keys import dtype_class, family_of, form_name, normalise, signature_parts
from engine.oracles.verdict import Divergence, Kind

MESSAGES = sorted((Path(__file__).parents[1] / "data" / "signatures").glob("*.txt"))
CASE = """case 1
graph calls
  input x: float32[2,3] = normal(seed=0)
  input i: int32[2] = [0, 1]
  v0: float32[2,3] = relu(x) as torch:method
  v1: float32[2,3] = index_select(v0, i; dim=0)
  t2: (float32[1,3], float32[1,3]) = split(v1; dim=0, sizes=(1, 1))
  v3: float32[1,3] = item(t2; index=0)
  return v3
plan
  call
  check values
"""
WRONG = Divergence(Kind.VALUES, "torch", ("torch-aot",), value="v3")


def parts_of(text: str) -> dict[str, str]:
    return dict(signature_parts(WRONG, parse_case(text).graph))


def read(path: Path) -> tuple[dict[str, str], str]:
    header, text = path.read_text().split("\n\n", 1)
    lines = (line.removeprefix("# ").split(":", 1) for line in header.splitlines())
    return {name: value.removeprefix(" ") for name, value in lines}, text


# ------------------------------------------------------------------------------------ messages
@pytest.mark.parametrize("path", MESSAGES, ids=[path.stem for path in MESSAGES])
def test_a_message_is_reduced_to_what_its_file_says(path: Path) -> None:
    header, text = read(path)
    assert header["why"]
    assert normalise(header["type"], text) == header["expect"]


def test_every_rule_has_a_file() -> None:
    stems = {path.stem for path in MESSAGES}
    assert {"address", "path", "quotes", "value_names", "numbers", "shapes", "spaces"} <= stems


@settings(max_examples=80)
@given(text=st.text(max_size=300))
def test_any_text_gives_one_short_line(text: str) -> None:
    key = normalise("Error", text)
    assert len(key) <= len("Error: ") + 160
    assert "\n" not in key


@settings(max_examples=80)
@given(
    numbers=st.lists(st.integers(0, 10**6), min_size=2, max_size=2, unique=True),
    path=st.sampled_from(("/a/b.py", "/usr/lib/x-1.0/y.cc", "/tmp/1/2/3")),
    name=st.from_regex(r"[A-Za-z_]{1,12}", fullmatch=True),
)
def test_numbers_paths_and_names_do_not_matter(numbers: list[int], path: str, name: str) -> None:
    text = (
        "For '{name}' at {path}:{number}, shape ({number}, {number}) of 0x{number:x} is -{number}.5"
    )
    one = normalise("E", text.format(name=name, path=path, number=numbers[0]))
    two = normalise("E", text.format(name="Other", path="/z/y", number=numbers[1]))
    assert one == two


# ---------------------------------------------------------------------------------- signatures
def test_the_parts_name_the_calls_in_order_with_their_forms() -> None:
    parts = parts_of(CASE)
    assert parts["calls"] == "relu.method > index_select.function > split.function"
    assert parts["dtypes"] == "float32, integer"
    assert (parts["symptom"], parts["modes"], parts["kind"]) == ("numerical", "torch-aot", "values")


def test_names_and_extents_do_not_matter() -> None:
    larger = (
        CASE.replace("[2,3]", "[4,5]").replace("[1,3]", "[2,5]").replace("int32[2]", "int32[4]")
    )
    larger = larger.replace("[0, 1]", "[0, 1, 2, 3]").replace("sizes=(1, 1)", "sizes=(2, 2)")
    assert parts_of(larger) == parts_of(CASE)
    case = renamed(parse_case(CASE))
    assert signature_parts(WRONG, case.graph) == parts_of(CASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("relu(x) as torch:method", "relu(x)"),
        ("relu(x) as torch:method", "abs(x)"),
        ("float32", "float16"),
    ],
)
def test_forms_operators_and_classes_of_dtypes_do(old: str, new: str) -> None:
    assert parts_of(CASE.replace(old, new)) != parts_of(CASE)


def test_integers_are_one_class() -> None:
    assert parts_of(CASE.replace("int32", "int64")) == parts_of(CASE)


def test_every_dtype_has_a_class() -> None:
    classes = {dtype: dtype_class(dtype) for dtype in DTYPES}
    assert classes["float16"] == classes["bfloat16"] == "small float"
    assert len({classes[one] for one in ("float32", "float64", "bool", "int8", "complex64")}) == 5


def test_an_item_has_no_form() -> None:
    graph = parse_case(CASE).graph
    assert form_name(graph, graph.by_name["v3"], "torch") == ""


def test_the_key_says_who_fails_how_and_with_what_message() -> None:
    divergence = Divergence(
        Kind.RAISES, "mindspore", ("mindspore-graph",), value="v3", message="TypeError: no"
    )
    assert divergence.key == "crash|mindspore|mindspore-graph|raises in one mode|TypeError: no"
    assert not re.search(r"v\d", divergence.key)


# ------------------------------------------------------------------------------------ families
def family(calls: str, message: str = "", kind: Kind = Kind.WRITE_LOST) -> str:
    parts = {
        "version": "1",
        "symptom": kind.symptom,
        "framework": "mindspore",
        "modes": "mindspore-pynative",
        "kind": kind,
        "message": message,
        "calls": calls,
        "dtypes": "float32",
    }
    return family_of(parts)


def test_in_place_operators_that_fail_alike_are_a_family() -> None:
    one = family("clone.method > add_.inplace")
    assert one == family("sub_.inplace") == family("clone.method > mul_.method")
    assert one != family("add.function")
    assert one != family("add_.inplace", kind=Kind.INPUT_CHANGED)


def test_forms_that_raise_alike_are_a_family_whatever_their_kernel() -> None:
    raises = Kind.RAISES
    one = family("amax.method", "TypeError: Failed calling ReduceMax with amax().", raises)
    two = family("amin.method", "TypeError: Failed calling ReduceMin with amin().", raises)
    assert one == two
    assert one != family("amax.mint", "TypeError: Failed calling ReduceMax with amax().", raises)
    assert one != family("amax.method", "ValueError: no", raises)


def test_a_plain_call_keeps_its_operator() -> None:
    assert family("relu.function") != family("relu6.function")
    assert family("relu.function") == family("relu")
