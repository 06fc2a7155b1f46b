"""Layouts: nothing overlaps, arrows go down, whichever way places them."""

import shutil
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.layout import Box, Layout, Link, layered, place, with_graphviz


def chain_with_skips(count: int) -> tuple[list[Box], list[Link]]:
    """A deep graph as models have: a chain with a skip over every three."""
    boxes = [Box(f"v{index}", 90, 40) for index in range(count)]
    links = [Link(f"v{index}", f"v{index + 1}") for index in range(count - 1)]
    links += [Link(f"v{index}", f"v{index + 3}") for index in range(0, count - 3, 4)]
    return boxes, links


def check(boxes: list[Box], links: list[Link], layout: Layout) -> None:
    """Boxes lie inside and do not overlap; links join their boxes and go down."""
    assert set(layout.centres) == {box.id for box in boxes}
    assert len(layout.curves) == len(links)
    areas = []
    for box in boxes:
        x, y = layout.centres[box.id]
        left, top = x - box.width / 2, y - box.height / 2
        assert left >= -1
        assert top >= -1
        assert left + box.width <= layout.width + 1
        assert top + box.height <= layout.height + 1
        areas.append((left, top, left + box.width, top + box.height))
    for index, (a, b, c, d) in enumerate(areas):
        for e, f, g, h in areas[index + 1 :]:
            assert c <= e + 0.5 or g <= a + 0.5 or d <= f + 0.5 or h <= b + 0.5
    for link, curve in zip(links, layout.curves, strict=True):
        assert (len(curve.points) - 1) % 3 == 0
        assert layout.centres[link.source][1] < layout.centres[link.target][1]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Link]]:
    """Acyclic graphs in execution order, several links between two boxes allowed."""
    count = draw(st.integers(1, 14))
    widths = draw(st.lists(st.integers(40, 260), min_size=count, max_size=count))
    boxes = [Box(f"n{index}", width, 40) for index, width in enumerate(widths)]
    links = []
    for target in range(1, count):
        for source in draw(st.lists(st.integers(0, target - 1), max_size=3)):
            room = draw(st.sampled_from([0.0, 80.0]))
            links.append(Link(f"n{source}", f"n{target}", room))
    return boxes, links


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_layered_layout_keeps_its_promises(graph: tuple[list[Box], list[Link]]) -> None:
    boxes, links = graph
    check(boxes, links, layered(boxes, links))


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_layered_layout_is_the_same_each_time(graph: tuple[list[Box], list[Link]]) -> None:
    assert layered(*graph) == layered(*graph)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_layout_keeps_its_promises() -> None:
    boxes, links = chain_with_skips(30)
    links = [Link(link.source, link.target, 80) for link in links]
    layout = with_graphviz(boxes, links, dot="dot")
    check(boxes, links, layout)
    assert all(curve.label is not None for curve in layout.curves)


def test_names_need_no_escaping() -> None:
    names = ['a"b', "c\\d", "e -> f", "\0stub", "node", "é"]
    boxes = [Box(name, 60, 40) for name in names]
    links = [Link(names[0], name) for name in names[1:]]
    check(boxes, links, place(boxes, links))


def test_without_graphviz_the_own_layout_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    boxes, links = chain_with_skips(5)
    assert place(boxes, links) == layered(boxes, links)


def test_nothing_and_one_box_are_placed() -> None:
    assert layered([], []).centres == {}
    assert layered([Box("a", 60, 40)], []).centres == {"a": (30, 20)}


def test_two_thousand_nodes_are_laid_out() -> None:
    boxes, links = chain_with_skips(2000)
    start = time.process_time()
    layout = layered(boxes, links)
    print(f"{time.process_time() - start:.2f} s of processor time")
    assert len(layout.centres) == 2000


def test_arrows_are_turned_the_way_their_curve_arrives() -> None:
    layout = layered([Box("a", 60, 40), Box("b", 60, 40)], [Link("a", "b")])
    assert layout.curves[0].arrival == pytest.approx(90)
