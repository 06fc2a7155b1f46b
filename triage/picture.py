"""The picture of a mutation: the graph before and after in one, as accessible SVG."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from engine.ir.graph import Graph
from engine.ir.text import parse_case, parse_graph, print_graph
from engine.tfg import EdgeChange, GraphDiff, NodeChange, diff
from triage.layout import Box, Curve, Layout, Link, place
from triage.window import shared_window

__all__ = ["Picture", "fold", "picture", "picture_of_texts", "standalone"]

HOPS = 2
_MARKS = {"added": "+", "removed": "\N{MINUS SIGN}", "changed": "~"}
_WORDS = {"added": "added", "removed": "removed", "changed": "changed", "same": "unchanged"}
_LETTER, _SMALL_LETTER, _HEIGHT, _MARGIN = 7.4, 6.3, 40.0, 14.0
_LINE = 30
_FOLDED = "folded"
# Small graphs say the type on every edge; large ones only where something changed.
_FEW_EDGES = 14


@dataclass(frozen=True)
class Picture:
    """`folded`: how many unchanged nodes are too far from the change to be drawn.

    `before` and `after`: the two graphs as text.
    """

    svg: SafeString
    nodes: tuple[NodeChange, ...]
    edges: tuple[EdgeChange, ...]
    folded: int
    summary: str
    before: str = ""
    after: str = ""


@lru_cache(maxsize=256)
def picture_of_texts(
    parent: str,
    mutant: str,
    *,
    changed: tuple[str, ...] = (),
    diverges: str = "",
    hops: int | None = HOPS,
) -> Picture:
    """The picture of two texts of graphs or cases; `engine.errors.BadInput` where one is neither.

    `changed`: names of the mutant's nodes that the mutation touched. `hops` None draws everything.
    """
    before, after = shared_window(_graph(parent), _graph(mutant), changed)
    drawn = picture(diff(before, after), diverges=diverges, hops=hops)
    return replace(drawn, before=print_graph(before), after=print_graph(after))


def picture(change: GraphDiff, *, diverges: str = "", hops: int | None = HOPS) -> Picture:
    """Draw a difference round what changed; `diverges` marks the first value that differs."""
    shown = fold(change, hops=hops, keep=diverges)
    nodes = [node for node in change.nodes if node.id in shown]
    edges = [edge for edge in change.edges if edge.source in shown and edge.target in shown]
    stubs = _stubs(change, shown)
    boxes = [_box(node) for node in nodes]
    boxes = _with_stubs(boxes, stubs)
    few = len(edges) <= _FEW_EDGES
    labels = [_edge_label(edge, always=few) for edge in edges]
    links = [
        Link(edge.source, edge.target, len(label) * _SMALL_LETTER)
        for edge, label in zip(edges, labels, strict=True)
    ]
    links += [Link(stub.source, stub.target) for stub in stubs]
    layout = place(boxes, links)
    return Picture(
        svg=_svg(layout, boxes, nodes, list(zip(edges, labels, strict=True)), stubs, diverges),
        nodes=change.nodes,
        edges=change.edges,
        folded=len(change.nodes) - len(nodes),
        summary=_summary(change),
    )


def fold(change: GraphDiff, *, hops: int | None, keep: str = "") -> set[str]:
    """Nodes within `hops` edges of something that changed; all of them where nothing did."""
    everything = {node.id for node in change.nodes}
    starts = {node.id for node in change.nodes if node.status != "same"} | ({keep} & everything)
    for edge in change.edges:
        if edge.status != "same":
            starts |= {edge.source, edge.target}
    if hops is None or not starts:
        return everything
    near: dict[str, set[str]] = defaultdict(set)
    for edge in change.edges:
        near[edge.source].add(edge.target)
        near[edge.target].add(edge.source)
    distance = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        one = queue.popleft()
        for other in near[one] - distance.keys():
            distance[other] = distance[one] + 1
            queue.append(other)
    return {name for name, far in distance.items() if far <= hops}


# ------------------------------------------------------------------------------------- pieces
@dataclass(frozen=True)
class _Stub:
    """Stands for the folded nodes on one side of a shown one."""

    id: str
    source: str
    target: str
    count: int


def _stubs(change: GraphDiff, shown: set[str]) -> list[_Stub]:
    into: dict[str, set[str]] = defaultdict(set)
    out: dict[str, set[str]] = defaultdict(set)
    for edge in change.edges:
        if edge.target in shown and edge.source not in shown:
            into[edge.target].add(edge.source)
        elif edge.source in shown and edge.target not in shown:
            out[edge.source].add(edge.target)
    stubs = [_Stub(f"\0in {name}", f"\0in {name}", name, len(far)) for name, far in into.items()]
    return stubs + [
        _Stub(f"\0out {name}", name, f"\0out {name}", len(far)) for name, far in out.items()
    ]


def _with_stubs(boxes: list[Box], stubs: Iterable[_Stub]) -> list[Box]:
    """Stubs of inputs before everything, stubs of outputs after: boxes keep execution order."""
    before = [Box(stub.id, 60, 24) for stub in stubs if stub.source == stub.id]
    after = [Box(stub.id, 60, 24) for stub in stubs if stub.target == stub.id]
    return [*before, *boxes, *after]


def _box(node: NodeChange) -> Box:
    longest = max(len(line) for line in _lines(node))
    return Box(node.id, max(64.0, longest * _LETTER + 28), _HEIGHT)


def _lines(node: NodeChange) -> tuple[str, str]:
    """What the box says: the operator, then its name with what changed or its form."""
    if node.op in {"input", "weight", "constant"}:
        name, _, kind = node.label.partition(": ")
        return _cut(name), _cut(kind or node.op)
    extra = node.detail or node.form
    return _cut(node.op), _cut(f"{node.id} {extra}".strip())


def _cut(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"


def _svg(
    layout: Layout,
    boxes: Iterable[Box],
    nodes: list[NodeChange],
    edges: list[tuple[EdgeChange, str]],
    stubs: list[_Stub],
    diverges: str,
) -> SafeString:
    sizes = {box.id: box for box in boxes}
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    parts: list[SafeString] = []
    for (edge, label), curve in zip(edges, layout.curves, strict=False):
        parts.append(_arrow(curve, edge.status, label))
    for curve in layout.curves[len(edges) :]:
        parts.append(_arrow(curve, "folded", ""))
    for node in nodes:
        parts.append(_node(node, sizes[node.id], layout.centres[node.id], node.id == diverges))
    for stub in stubs:
        parts.append(_stub(stub, layout.centres[stub.id]))
    return format_html(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="{} {} {} {}" width="{}" '
        'height="{}" role="img" aria-label="Graph round the change; the table below says the same">'
        "{}</svg>",
        f"{-_MARGIN:.0f}",
        f"{-_MARGIN:.0f}",
        f"{width:.0f}",
        f"{height:.0f}",
        f"{width:.0f}",
        f"{height:.0f}",
        _joined(parts),
    )


def _joined(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("\n", "{}", ((part,) for part in parts))


def _node(
    node: NodeChange,
    box: Box,
    centre: tuple[float, float],
    diverges: bool,  # noqa: FBT001
) -> SafeString:
    first, second = _lines(node)
    words = [_WORDS[node.status], node.label, node.form, node.detail]
    if diverges:
        words.insert(1, "first value that differs")
    mark = "≠" if diverges and node.status == "same" else _MARKS.get(node.status, "")
    return format_html(
        '<g class="g-node {}{}" transform="translate({} {})" data-id="{}"><title>{}</title>{}'
        '<text y="-3">{}</text><text y="12" class="small">{}</text>'
        '<text class="mark" x="{}" y="4">{}</text></g>',
        node.status,
        " diverges" if diverges else "",
        f"{centre[0]:.1f}",
        f"{centre[1]:.1f}",
        node.id,
        ", ".join(word for word in words if word),
        _shape(node, box),
        first,
        second,
        f"{-box.width / 2 + 10:.1f}",
        mark,
    )


def _shape(node: NodeChange, box: Box) -> SafeString:
    """Operators are boxes, inputs pills, weights and constants boxes with cut corners."""
    w, h = box.width, box.height
    if node.op in {"weight", "constant"}:
        c, x, y = 9, w / 2, h / 2
        corners = [(-x + c, -y), (x, -y), (x, y - c), (x - c, y), (-x, y), (-x, -y + c)]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
        return format_html('<polygon class="shape" points="{}"/>', points)
    radius = h / 2 if node.op == "input" else 5
    return format_html(
        '<rect class="shape" x="{}" y="{}" width="{}" height="{}" rx="{}"/>',
        f"{-w / 2:.1f}",
        f"{-h / 2:.1f}",
        f"{w:.1f}",
        f"{h:.1f}",
        radius,
    )


def _stub(stub: _Stub, centre: tuple[float, float]) -> SafeString:
    return format_html(
        '<g class="g-node folded" transform="translate({} {})"><title>{} unchanged, folded</title>'
        '<rect class="shape" x="-30" y="-12" width="60" height="24" rx="12"/>'
        '<text y="4" class="small">… {}</text></g>',
        f"{centre[0]:.1f}",
        f"{centre[1]:.1f}",
        stub.count,
        stub.count,
    )


def _edge_label(edge: EdgeChange, *, always: bool) -> str:
    """The type that flows, before and after where it changed; "" where it goes without saying."""
    if edge.status == "changed":
        text = f"{edge.before} → {edge.after}"
    elif always or edge.status != "same":
        text = edge.after or edge.before
    else:
        return ""
    return f"{_MARKS.get(edge.status, '')} {text}".strip()


def _arrow(curve: Curve, status: str, text: str) -> SafeString:
    """A curve with its head, turned the way the curve arrives."""
    left, top = curve.label or curve.middle
    label = format_html('<text x="{}" y="{}">{}</text>', f"{left:.1f}", f"{top + 3:.1f}", text)
    return format_html(
        '<g class="g-edge {}"><path d="{}"/><polygon points="0,0 -8,-3.5 -8,3.5" '
        'transform="translate({} {}) rotate({})"/>{}</g>',
        status,
        curve.path,
        f"{curve.end[0]:.1f}",
        f"{curve.end[1]:.1f}",
        f"{curve.arrival:.0f}",
        label if text else "",
    )


def _summary(change: GraphDiff) -> str:
    """What the mutation did, in words."""
    counts: Mapping[str, int] = {
        "added": len(change.added),
        "removed": len(change.removed),
        "changed": len(change.changed),
    }
    edges = sum(edge.status == "changed" for edge in change.edges)
    said = [f"{count} {word}" for word, count in counts.items() if count]
    text = ", ".join(said) + (" nodes" if said else "no node differs")
    return text + (f", {edges} edges carry another type" if edges else "")


def _graph(text: str) -> Graph:
    lines: Iterator[str] = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return parse_case(text).graph if first.startswith("case") else parse_graph(text)


def standalone(svg: str) -> str:
    """The picture as a file of its own, with the colours that the page's stylesheet gives it."""
    return svg.replace("<g ", f"<style>{_PICTURE_STYLE}</style><g ", 1)


_PICTURE_STYLE = (
    "text{font:12px monospace;text-anchor:middle;fill:#1a1e26}.small{font-size:10.5px;fill:#565e6b}"
    ".shape{fill:#fff;stroke:#858d9a}path{fill:none;stroke:#858d9a}"
    ".g-edge polygon{fill:#858d9a}.g-edge text{font-size:10px;fill:#565e6b}"
    ".added .shape{fill:#e2f4e8;stroke:#1b6e3c;stroke-width:2.4}.added path{stroke:#1b6e3c}"
    ".removed .shape{fill:#fce9e7;stroke:#b3261e;stroke-dasharray:5 3}"
    ".removed path{stroke:#b3261e;stroke-dasharray:5 4}"
    ".changed .shape{fill:#fdf1da;stroke:#8a5200;stroke-width:2.4}.changed path{stroke:#8a5200}"
    ".diverges .shape{stroke:#6b3fb5;stroke-width:3}"
)
