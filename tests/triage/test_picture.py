import re
from xml.etree import ElementTree

import pytest

from engine.errors import BadInput
from engine.ir.text import parse_graph
from engine.tfg import diff
from tests.factories import MINIMISED, MUTANT, PARENT
from triage.picture import fold, picture, picture_of_texts, standalone


def long_graph(length: int, *, changed_at: int | None = None) -> str:
    """A chain of relus, one of them a tanh."""
    lines = ["graph long", "  input x: float32[2] = normal(seed=0, mean=0.0, std=1.0)"]
    before = "x"
    for index in range(length):
        op = "tanh" if index == changed_at else "relu"
        lines.append(f"  v{index}: float32[2] = {op}({before})")
        before = f"v{index}"
    return "\n".join([*lines, f"  return {before}", ""])


def test_picture_marks_what_was_added_removed_and_changed_by_text_and_class() -> None:
    drawn = picture_of_texts(PARENT, MUTANT)
    tree = ElementTree.fromstring(drawn.svg)
    groups = {
        group.get("data-id"): group
        for group in tree.iter("{http://www.w3.org/2000/svg}g")
        if group.get("data-id")
    }
    assert "added" in str(groups["m0"].get("class"))
    assert "changed" in str(groups["v2"].get("class"))
    marks = {
        name: next(text.text for text in group if text.get("class") == "mark")
        for name, group in groups.items()
    }
    assert (marks["m0"], marks["v2"], marks["v0"]) == ("+", "~", None)
    assert drawn.summary == "1 added, 2 changed nodes"


def test_picture_reads_both_ways() -> None:
    back = picture_of_texts(MUTANT, PARENT)
    assert back.summary == "1 removed, 2 changed nodes"
    assert "removed" in back.svg


def test_first_value_that_differs_is_marked() -> None:
    drawn = picture_of_texts(PARENT, MUTANT, diverges="v0")
    assert "first value that differs" in drawn.svg
    assert "≠" in drawn.svg


def test_far_nodes_are_folded_and_can_be_unfolded() -> None:
    near = picture_of_texts(long_graph(40), long_graph(40, changed_at=20), hops=2)
    assert near.folded == 36
    assert "unchanged, folded" in near.svg
    # The table keeps all of them.
    assert len(near.nodes) == 41
    whole = picture_of_texts(long_graph(40), long_graph(40, changed_at=20), hops=None)
    assert whole.folded == 0


def test_fold_keeps_everything_where_nothing_changed() -> None:
    same = diff(parse_graph(PARENT), parse_graph(PARENT))
    assert fold(same, hops=1) == {node.id for node in same.nodes}
    assert picture(same).summary == "no node differs"


def test_cases_are_read_as_graphs() -> None:
    assert picture_of_texts(MINIMISED, MINIMISED).folded == 0


def test_text_that_is_no_graph_is_refused() -> None:
    with pytest.raises(BadInput):
        picture_of_texts("no graph", MUTANT)


def test_file_of_its_own_carries_its_colours() -> None:
    text = standalone(picture_of_texts(PARENT, MUTANT).svg)
    ElementTree.fromstring(text)
    assert re.search(r"<style>.*\.added .*</style>", text)


def test_edges_whose_type_changed_say_before_and_after() -> None:
    before = long_graph(3)
    after = before.replace("v0: float32[2] = relu(x)", "v0: float64[2] = relu(x)")
    drawn = picture_of_texts(before, after)
    assert "float32[2] → float64[2]" in drawn.svg
    assert "carry another type" in drawn.summary
