"""The drawing: marks by text, outline and class, folds, far edges, links, and a file of its own."""

import re
from xml.etree import ElementTree

import pytest

from engine.ir.text import parse_graph
from engine.seeds import load_seed
from engine.tfg import diff
from tests.factories import MUTANT, PARENT
from tests.triage.graphs import chain
from triage.folding import fold
from triage.picture import HERE, Notes, draw, standalone

SVG = "{http://www.w3.org/2000/svg}"


def drawn(
    before: str,
    after: str,
    *,
    hops: int | None = 2,
    notes: Notes | None = None,
    linked: bool = True,
) -> ElementTree.Element:
    change = diff(parse_graph(before), parse_graph(after))
    svg = draw(change, fold(change, hops=hops), notes=notes, linked=linked)
    return ElementTree.fromstring(svg.replace(HERE, ""))


def by_id(tree: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {str(one.get("id")): one for one in tree.iter() if one.get("id")}


def mark(node: ElementTree.Element) -> str:
    return next((str(text.text) for text in node if text.get("class") == "mark"), "")


def test_nodes_say_what_happened_in_words_and_differ_in_outline() -> None:
    found = by_id(drawn(PARENT, MUTANT))
    added, changed, same = (found[f"graph-n-{name}"] for name in ("m0", "v2", "v0"))
    assert (mark(added), mark(changed), mark(same)) == ("+ added", "~ changed", "")
    assert str(added.get("class")).split() == ["g-node", "added"]
    # What changed has a second line inside its outline.
    inner = [len([one for one in node if one.get("class") == "inner"]) for node in (changed, same)]
    assert inner == [1, 0]


def test_what_is_removed_is_drawn_where_it_stood() -> None:
    found = by_id(drawn(MUTANT, PARENT))
    assert mark(found["graph-n-m0"]) == "\N{MINUS SIGN} removed"
    assert "removed" in str(found["graph-e-v0-m0-0"].get("class"))


def test_edges_are_marked_and_say_what_flows() -> None:
    found = by_id(drawn(PARENT, MUTANT))
    assert {
        name: str(found[f"graph-e-{name}"].get("class")).split()[1]
        for name in ("v0-m0-0", "m0-v1-0", "v0-v1-0", "v1-v2-0")
    } == {"v0-m0-0": "added", "m0-v1-0": "added", "v0-v1-0": "removed", "v1-v2-0": "same"}
    texts = [str(text.text) for text in found["graph-e-v0-m0-0"].iter(f"{SVG}text")]
    assert texts == ["+ float32[1,8,16,16]"]


def test_edges_whose_type_changed_say_before_and_after() -> None:
    after = chain(3).replace("v0: float32[2] = relu(x)", "v0: float64[2] = relu(x)")
    edge = by_id(drawn(chain(3), after))["graph-e-v0-v1-0"]
    assert [text.text for text in edge.iter(f"{SVG}text")] == ["~ float32[2] → float64[2]"]


def test_inputs_and_weights_have_outlines_of_their_own() -> None:
    found = by_id(drawn(PARENT, MUTANT))
    shapes = {
        name: next(one for one in found[f"graph-n-{name}"] if one.get("class") == "shape")
        for name in ("x", "w0", "v0")
    }
    assert shapes["w0"].tag == f"{SVG}polygon"
    assert (shapes["x"].get("rx"), shapes["v0"].get("rx")) == ("20", "5")


def test_first_value_that_differs_is_marked() -> None:
    node = by_id(drawn(PARENT, PARENT, notes=Notes(diverges="v0")))["graph-n-v0"]
    assert mark(node) == "≠ differs"
    assert "first value that differs" in str(node.findtext(f"{SVG}title"))


def test_folds_say_how_many_nodes_they_hold_and_open() -> None:
    tree = drawn(chain(40), chain(40, changed_at=20))
    found = by_id(tree)
    assert [
        (one.get("href"), str(one.findtext(f"{SVG}title")).partition(",")[0])
        for name, one in found.items()
        if name.startswith("graph-f-")
    ] == [("?open=x#graph", "19 nodes folded"), ("?open=v23#graph", "17 nodes folded")]
    assert "graph-n-v17" not in found
    # Folds are joined to what is drawn.
    assert len([one for one in tree if one.get("class") == "g-edge folded"]) == 2


def test_edges_over_many_layers_of_a_large_graph_become_tags_with_the_other_end() -> None:
    long_way = chain(200).replace("relu(v198)", "add(v198, v0)")
    tree = drawn(long_way, long_way, hops=None)
    tags = [one for one in tree if str(one.get("class")).startswith("g-far")]
    assert [tag.findtext(f"{SVG}text") for tag in tags] == ["to 1 far below", "from v0"]
    assert tags[1].get("href") == "?node=v0#graph"
    assert "graph-e-v0-v199-1" not in by_id(tree)


def test_what_many_folds_read_leads_to_the_first_and_to_a_tag() -> None:
    graph = load_seed("qwen2_5_0_5b").graph
    change = diff(graph, graph)
    tree = ElementTree.fromstring(draw(change, fold(change, hops=2)).replace(HERE, ""))
    tags = [one.findtext(f"{SVG}text") for one in tree if str(one.get("class")).startswith("g-far")]
    assert tags == ["to 23 more folds"] * 3
    # 24 layers in a row, and one way from each table into the first of them.
    assert len([one for one in tree if one.get("class") == "g-edge folded"]) == 23 + 3 + 1


def test_nodes_and_edges_are_links_unless_asked_otherwise() -> None:
    links = [one.get("href") for one in drawn(PARENT, MUTANT).iter(f"{SVG}a")]
    assert "?node=m0#graph" in links
    assert "?edge=v0-m0-0#graph" in links
    plain = drawn(PARENT, MUTANT, linked=False)
    assert list(plain.iter(f"{SVG}a")) == []
    assert plain.get("role") == "img"


def test_picture_has_a_name_and_a_description() -> None:
    tree = drawn(chain(40), chain(40, changed_at=20))
    found = by_id(tree)
    assert found[str(tree.get("aria-labelledby"))].text == "Graph"
    said = str(found[str(tree.get("aria-describedby"))].text)
    assert said.startswith("5 nodes and 4 edges are drawn, 36 nodes are folded")


def test_names_of_a_hostile_graph_are_escaped() -> None:
    notes = Notes(tips={"v0-m0-0": "<script>"}, labels={})
    change = diff(parse_graph(PARENT), parse_graph(MUTANT))
    svg = draw(change, fold(change, hops=None), notes=notes, title='"><script>')
    assert "<script>" not in svg


def test_file_of_its_own_is_legible_on_light_and_on_dark() -> None:
    change = diff(parse_graph(PARENT), parse_graph(MUTANT))
    text = standalone(draw(change, fold(change, hops=2), linked=False))
    style = str(ElementTree.fromstring(text).findtext(f"{SVG}style"))
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    fills = [re.search(r"\.g-node text {[^}]*fill: (#\w+)", part) for part in (light, dark)]
    assert [one[1] for one in fills if one] == ["#1a1e26", "#e5e8ed"]
    assert "var(" not in style
    assert ".picture" not in style


@pytest.mark.parametrize("path", ["/nowhere", None])
def test_two_thousand_nodes_are_drawn_with_and_without_graphviz(
    path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path:
        monkeypatch.setenv("PATH", path)
    before, after = chain(2000, skips=True), chain(2000, changed_at=1000, skips=True)
    tree = drawn(before, after, hops=None)
    assert len([one for one in tree if one.get("data-node")]) == 2001
