"""What a picture of a large graph costs: the built-in layout against Graphviz, and a kept drawing
against a fresh one.

    python -m tests.bench.bench_pictures

Times are medians in milliseconds. Without Graphviz only our own are shown.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")
os.environ.setdefault("FLOWMUT_VAR_DIR", tempfile.mkdtemp(prefix="flowmut-bench-"))

from django.conf import settings
from django.http import QueryDict

from engine.ir.text import print_graph
from engine.seeds import load_seed
from flowmut_web import machine
from tests.bench.bench_engine import median, show
from triage.graph_panel import Panel, program_panel
from triage.layout import Box, Link, layered, with_graphviz

SEED = "qwen2_5_0_5b"


def chain(count: int) -> tuple[list[Box], list[Link]]:
    """A deep graph as models have: a chain with a skip over every three."""
    boxes = [Box(f"v{index}", 90, 40) for index in range(count)]
    links = [Link(f"v{index}", f"v{index + 1}") for index in range(count - 1)]
    links += [Link(f"v{index}", f"v{index + 3}") for index in range(0, count - 3, 4)]
    return boxes, links


def compare(name: str, ours: Callable[[], object], dots: Callable[[str], object]) -> None:
    dot = machine.graphviz()
    spent = median(ours, 3)
    if dot is None:
        print(f"{name:<34} {spent:>9.1f}   no Graphviz to compare with")
    else:
        show(name, spent, median(lambda: dots(dot), 3), "Graphviz")


def drawn(text: str, *, keep: bool) -> str:
    panel = program_panel(text, QueryDict("hops=all"), title="The seed")
    assert isinstance(panel, Panel)
    if not keep:
        for file in Path(settings.PICTURE_DIR).rglob("*.svg.gz"):
            file.unlink()
    return panel.svg


def main() -> None:
    for count in (500, 2000):
        boxes, links = chain(count)
        compare(
            f"layout, {count} nodes, {len(links)} edges",
            lambda boxes=boxes, links=links: layered(boxes, links),  # type: ignore[misc]
            lambda dot, boxes=boxes, links=links: with_graphviz(boxes, links, dot=dot),  # type: ignore[misc]
        )
    graph = load_seed(SEED).graph
    text = print_graph(graph)
    fresh = median(lambda: drawn(text, keep=False), 3)
    kept = median(lambda: drawn(text, keep=True), 3)
    name = f"picture of {SEED}, {len(graph.nodes) + len(graph.inputs)} nodes"
    print(f"{name}: {len(drawn(text, keep=True)) // 1000} kB")
    show("kept drawing, with its panel", kept, fresh, "drawn anew")


if __name__ == "__main__":
    main()
