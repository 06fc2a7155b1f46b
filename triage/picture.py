"""The drawing of a graph, or of what a mutation did to one, as accessible SVG.

Marks never are colour alone: what was added, removed or changed says so in a tag and differs in
its outline too. Every node, changed edge and fold is a link, so a picture works without scripts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

from engine.tfg import EdgeChange, GraphDiff, NodeChange
from triage.folding import GIVEN, Fold, Folding, execution_order
from triage.layout import Box, Curve, Layout, Link, place, ranks

__all__ = ["HERE", "MARKS", "WORDS", "Notes", "draw", "edge_id", "standalone"]

MARKS = {"added": "+", "removed": "\N{MINUS SIGN}", "changed": "~"}
WORDS = {"added": "added", "removed": "removed", "changed": "changed", "same": "unchanged"}
# Stands in links for the query of the page that shows the picture; never part of a name.
HERE = "\ue000"

_LETTER, _SMALL_LETTER, _HEIGHT, _MARGIN = 7.4, 6.3, 40.0, 16.0
_LINE, _LABEL = 34, 46
# Small graphs say the type on every edge; large ones only where something changed.
_FEW_EDGES = 14
# In larger graphs, an edge over so many layers is drawn as two short ones that name the other end.
_LARGE, _FAR = 120, 24
_FEW_FOLDS = 3
# Unchanged edges of larger graphs are no links of their own: the details of their nodes list them.
_MANY_EDGES = 400


@dataclass(frozen=True)
class Notes:
    """What a picture says beside the graph.

    `labels`: more than the type on an edge that changed, by edge id. `tips`: tooltips of edges, by
    edge id. `diverges`: the first value that differs.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    tips: Mapping[str, str] = field(default_factory=dict)
    diverges: str = ""


@dataclass(frozen=True)
class _Tag:
    """A box with the name of the other end of an edge that is too long to draw."""

    id: str
    text: str
    node: str
    status: str


def edge_id(edge: EdgeChange) -> str:
    """Names are words, so that the hyphens part them."""
    return f"{edge.source}-{edge.target}-{edge.slot}"


def draw(
    change: GraphDiff,
    folding: Folding,
    *,
    notes: Notes | None = None,
    name: str = "graph",
    title: str = "Graph",
    linked: bool = True,
) -> SafeString:
    """Draw what is not folded. `name` begins the ids and is the anchor that links lead to."""
    sheet = _Sheet(change, folding, notes or Notes(), name, linked=linked)
    return sheet.svg(title)


class _Sheet:
    def __init__(
        self, change: GraphDiff, folding: Folding, notes: Notes, name: str, *, linked: bool
    ) -> None:
        self.notes, self.name, self.linked = notes, name, linked
        self.nodes = {node.id: node for node in change.nodes if node.id in folding.shown}
        self.folds = {one.id: one for one in folding.closed}
        self.edges = [
            edge
            for edge in change.edges
            if edge.source in folding.shown and edge.target in folding.shown
        ]
        self.bundles = _bundles(change, folding)
        self.boxes = [
            box for node in execution_order(change) for box in self._boxes_of(node, folding)
        ]
        self.tags: list[_Tag] = []
        self.joints: list[tuple[str, str, str]] = []
        self._bundle_less()
        self._shorten()

    # ------------------------------------------------------------------------------ what to place
    def _boxes_of(self, node: NodeChange, folding: Folding) -> Iterator[Box]:
        if node.id in self.nodes:
            yield _box(node, tagged=node.status != "same" or node.id == self.notes.diverges)
        elif node.id in self.folds:
            one = self.folds[node.id]
            longest = max(len(line) for line in _fold_lines(one))
            yield Box(_key(one), max(96.0, longest * _LETTER + 28), _HEIGHT)

    def _bundle_less(self) -> None:
        """Of what is given to many folds, draw the way into the first, and a tag for the rest."""
        targets: dict[str, list[str]] = defaultdict(list)
        for source, target in self.bundles:
            if source in self.nodes and self.nodes[source].op in GIVEN:
                targets[source].append(target)
        place = {box.id: index for index, box in enumerate(self.boxes)}
        for source, folds in targets.items():
            if len(folds) <= _FEW_FOLDS:
                continue
            first = min(folds, key=place.__getitem__)
            text = f"to {len(folds) - 1} more folds"
            tag = _Tag(f"\0more {source}", text, source, "same")
            after: list[Box] = []
            self._put(tag, after)
            at = next(index for index, box in enumerate(self.boxes) if box.id == source)
            self.boxes[at + 1 : at + 1] = after
            self.joints.append((source, tag.id, "same"))
            self.bundles = {
                (one, two): count
                for (one, two), count in self.bundles.items()
                if one != source or two == first
            }

    def _shorten(self) -> None:
        """Take edges over many layers out of large graphs, and leave tags at both their ends."""
        self.drawn = list(self.edges)
        if len(self.boxes) <= _LARGE:
            return
        plain = [Link(edge.source, edge.target) for edge in self.edges]
        plain += [Link(source, target) for source, target in self.bundles]
        rank = ranks(self.boxes, plain)
        far = [edge for edge in self.edges if rank[edge.target] - rank[edge.source] > _FAR]
        if not far:
            return
        cut = set(map(edge_id, far))
        self.drawn = [edge for edge in self.edges if edge_id(edge) not in cut]
        before: dict[str, list[Box]] = defaultdict(list)
        after: dict[str, list[Box]] = defaultdict(list)
        for edge in far:
            tag = _Tag(f"\0from {edge_id(edge)}", f"from {edge.source}", edge.source, edge.status)
            self._put(tag, before[edge.target])
            self.joints.append((tag.id, edge.target, edge.status))
        for source, count in Counter(edge.source for edge in far).items():
            tag = _Tag(f"\0to {source}", f"to {count} far below", source, "same")
            self._put(tag, after[source])
            self.joints.append((source, tag.id, "same"))
        self.boxes = [one for box in self.boxes for one in (*before[box.id], box, *after[box.id])]

    def _put(self, tag: _Tag, boxes: list[Box]) -> None:
        self.tags.append(tag)
        boxes.append(Box(tag.id, len(_cut(tag.text)) * _SMALL_LETTER + 16, 20))

    # ------------------------------------------------------------------------------------ drawing
    def svg(self, title: str) -> SafeString:
        always = len(self.drawn) <= _FEW_EDGES
        labels = [self._label(edge, always=always) for edge in self.drawn]
        links = [
            Link(edge.source, edge.target, len(label) * _SMALL_LETTER)
            for edge, label in zip(self.drawn, labels, strict=True)
        ]
        links += [Link(source, target) for source, target in self.bundles]
        links += [Link(source, target) for source, target, _ in self.joints]
        layout = place(self.boxes, links)
        curves = iter(layout.curves)
        many = len(self.drawn) > _MANY_EDGES
        parts = [
            self._edge(edge, next(curves), label, alone=many and edge.status == "same")
            for edge, label in zip(self.drawn, labels, strict=True)
        ]
        parts += [
            _line(next(curves), "folded", f"{count}" if count > 1 else "")
            for count in self.bundles.values()
        ]
        parts += [_line(next(curves), f"far {status}", "") for _, _, status in self.joints]
        parts += self._drawn_boxes(layout)
        return self._frame(layout, title, parts)

    def _frame(self, layout: Layout, title: str, parts: Iterable[str]) -> SafeString:
        name = escape(self.name)
        wide, tall = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
        role = "group" if self.linked else "img"
        said = f"{len(self.nodes)} nodes and {len(self.edges)} edges are drawn"
        if self.folds:
            said += f", {sum(len(one.members) for one in self.folds.values())} nodes are folded"
        body = "\n".join(parts)
        # Everything that is not written here went through `escape`.
        return mark_safe(
            f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" width="{wide:.0f}" '
            f'height="{tall:.0f}" viewBox="{-_MARGIN:.0f} {-_MARGIN:.0f} {wide:.0f} {tall:.0f}" '
            f'role="{role}" aria-labelledby="{name}-svg" aria-describedby="{name}-desc">'
            f'<title id="{name}-svg">{escape(title)}</title><desc id="{name}-desc">'
            f"{said}; data flows from the top to the bottom. The tables say the same.</desc>"
            f"{body}</svg>"
        )

    def _drawn_boxes(self, layout: Layout) -> Iterator[str]:
        tags = {tag.id: tag for tag in self.tags}
        folds = {_key(one): one for one in self.folds.values()}
        for box in self.boxes:
            at = layout.centres[box.id]
            if box.id in tags:
                yield self._far_end(tags[box.id], box, at)
            elif box.id in folds:
                yield self._fold(folds[box.id], box, at)
            else:
                yield self._node(self.nodes[box.id], box, at)

    def _node(self, node: NodeChange, box: Box, at: tuple[float, float]) -> str:
        diverges = node.id == self.notes.diverges
        first, second = _lines(node)
        words = [WORDS[node.status], node.label, node.form, node.detail]
        if diverges:
            words.insert(1, "first value that differs")
        return self._link(
            f"g-node {node.status}{' diverges' if diverges else ''}",
            f"n-{node.id}",
            f"node={node.id}",
            f'{_at(at)} data-node="{node.id}"',
            f"<title>{escape(', '.join(word for word in words if word))}</title>"
            f"{_shape(node, box)}"
            f'<text y="-3">{escape(first)}</text><text y="12" class="small">{escape(second)}</text>'
            f"{_tag(node, box, diverges=diverges)}",
        )

    def _fold(self, one: Fold, box: Box, at: tuple[float, float]) -> str:
        first, second = _fold_lines(one)
        x, y = -box.width / 2, -box.height / 2
        plate = f'width="{box.width:.1f}" height="{box.height:.1f}" rx="5"'
        return self._link(
            "g-node folded",
            f"f-{one.id}",
            f"open={one.id}",
            f'{_at(at)} data-fold="{one.id}"',
            f"<title>{escape(f'{first}, {second}')}, from {one.members[0]} to {one.members[-1]}: "
            f"open</title>"
            f'<rect class="behind" x="{x + 4:.1f}" y="{y + 4:.1f}" {plate}/>'
            f'<rect class="shape" x="{x:.1f}" y="{y:.1f}" {plate}/>'
            f'<text y="-3">{escape(_cut(first))}</text>'
            f'<text y="12" class="small">{escape(_cut(second))}</text>',
        )

    def _far_end(self, tag: _Tag, box: Box, at: tuple[float, float]) -> str:
        return self._link(
            f"g-far {tag.status}",
            "",
            f"node={tag.node}",
            _at(at),
            f"<title>{escape(tag.text)}</title>"
            f'<rect x="{-box.width / 2:.1f}" y="-10" width="{box.width:.1f}" height="20" rx="10"/>'
            f'<text y="4">{escape(_cut(tag.text))}</text>',
        )

    def _edge(self, edge: EdgeChange, curve: Curve, label: str, *, alone: bool) -> str:
        """`alone`: only the line, neither link nor tooltip."""
        if alone:
            return _line(curve, edge.status, label)
        one = edge_id(edge)
        tip = self.notes.tips.get(one) or _plain_tip(edge)
        return self._link(
            f"g-edge {edge.status}",
            f"e-{one}",
            f"edge={one}",
            'tabindex="-1"' if self.linked else "",
            f'<title>{escape(tip)}</title><path class="hit" d="{curve.path}"/>'
            f"{_stroke(curve, label)}",
        )

    def _link(self, kind: str, name: str, query: str, rest: str, inside: str) -> str:
        identity = f' id="{self.name}-{name}"' if name else ""
        # "#" follows the query, so that a page opens at the picture and not at its top.
        goes = f' href="?{HERE}{query}#{self.name}"' if self.linked else ""
        element = "a" if self.linked else "g"
        return f'<{element} class="{kind}"{identity}{goes} {rest}>{inside}</{element}>'

    def _label(self, edge: EdgeChange, *, always: bool) -> str:
        """What flows, before and after where it changed; "" where it goes without saying."""
        more = self.notes.labels.get(edge_id(edge), "")
        if edge.status == "changed":
            types = f"{edge.before} → {edge.after}" if edge.before != edge.after else ""
            text = types or more
        elif always or edge.status != "same":
            text = edge.after or edge.before
        else:
            return ""
        text = f"{MARKS.get(edge.status, '')} {text}".strip()
        return text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…"


# ------------------------------------------------------------------------------------- pieces
def _key(one: Fold) -> str:
    return f"\0fold {one.id}"


def _bundles(change: GraphDiff, folding: Folding) -> Mapping[tuple[str, str], int]:
    """Edges into, out of and between folds, with how many each stands for."""

    def end(name: str) -> str:
        return name if name in folding.shown else _key(folding.place[name])

    pairs = ((end(edge.source), end(edge.target)) for edge in change.edges)
    found = Counter(pair for pair in pairs if pair[0] != pair[1])
    return {
        pair: count
        for pair, count in found.items()
        if pair[0].startswith("\0") or pair[1].startswith("\0")
    }


def _box(node: NodeChange, *, tagged: bool) -> Box:
    longest = max(len(line) for line in _lines(node))
    return Box(node.id, max(150.0 if tagged else 64.0, longest * _LETTER + 28), _HEIGHT)


def _lines(node: NodeChange) -> tuple[str, str]:
    """What the box says: the operator, then its name with what changed or its form."""
    if node.op in {"input", "weight", "constant"}:
        name, _, kind = node.label.partition(": ")
        return _cut(name), _cut(kind or node.op)
    extra = node.detail or node.form
    return _cut(node.op), _cut(f"{node.id} {extra}".strip())


def _fold_lines(one: Fold) -> tuple[str, str]:
    count = f"{len(one.members)} nodes folded"
    return (one.scope, count) if one.scope else (count, "open")


def _cut(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"


def _at(at: tuple[float, float]) -> str:
    return f'transform="translate({at[0]:.1f} {at[1]:.1f})"'


def _shape(node: NodeChange, box: Box) -> str:
    """Operators are boxes, inputs pills, weights and constants boxes with cut corners; what
    changed has a second line inside."""
    outline = _outline(node.op, box.width, box.height, "shape")
    if node.status == "changed":
        outline += _outline(node.op, box.width - 7, box.height - 7, "inner")
    return outline


def _outline(op: str, wide: float, tall: float, kind: str) -> str:
    x, y = wide / 2, tall / 2
    if op in {"weight", "constant"}:
        c = 9
        corners = [(-x + c, -y), (x, -y), (x, y - c), (x - c, y), (-x, y), (-x, -y + c)]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
        return f'<polygon class="{kind}" points="{points}"/>'
    radius = y if op == "input" else 5
    return (
        f'<rect class="{kind}" x="{-x:.1f}" y="{-y:.1f}" width="{wide:.1f}" '
        f'height="{tall:.1f}" rx="{radius:g}"/>'
    )


def _tag(node: NodeChange, box: Box, *, diverges: bool) -> str:
    """The mark in words, on the upper left of the outline, clear of arrows."""
    if node.status == "same" and not diverges:
        return ""
    text = "≠ differs" if node.status == "same" else f"{MARKS[node.status]} {node.status}"
    wide = len(text) * _SMALL_LETTER + 4
    x, y = -box.width / 2 + 5, -box.height / 2
    return (
        f'<rect class="tag" x="{x:.1f}" y="{y - 8:.1f}" width="{wide:.1f}" height="15" rx="3"/>'
        f'<text class="mark" x="{x + wide / 2:.1f}" y="{y + 3:.1f}">{text}</text>'
    )


def _plain_tip(edge: EdgeChange) -> str:
    flows = f"{edge.before} → {edge.after}" if edge.status == "changed" else ""
    flows = flows or edge.after or edge.before
    return f"{WORDS[edge.status]}: {edge.source} into {edge.target}, operand {edge.slot}, {flows}"


def _line(curve: Curve, kind: str, text: str) -> str:
    return f'<g class="g-edge {kind}">{_stroke(curve, text)}</g>'


def _stroke(curve: Curve, text: str) -> str:
    """A curve with its head, turned the way the curve arrives, and its label."""
    left, top = curve.label or curve.middle
    label = f'<text x="{left:.1f}" y="{top + 3:.1f}">{escape(text)}</text>' if text else ""
    return (
        f'<path d="{curve.path}"/><polygon points="0,0 -8,-3.5 -8,3.5" transform="translate('
        f'{curve.end[0]:.1f} {curve.end[1]:.1f}) rotate({curve.arrival:.0f})"/>{label}'
    )


# ----------------------------------------------------------------------------- a file of its own
_IN_PAGES = "/* ---- in pages only */"
_PROPERTY = re.compile(r"(--[\w-]+): (?:light-dark\(([^,]+), ([^)]+)\)|([^;]+));")


def standalone(svg: str) -> str:
    """The picture as a file of its own, legible on light and on dark: with the site's rules for
    graphs, and its colours as they are, since few programs that show SVG know custom properties."""
    light, dark = _styles()
    ground = '<rect class="ground" x="-50%" y="-50%" width="200%" height="200%"/>'
    style = f"<style>{light}@media (prefers-color-scheme: dark) {{{dark}}}</style>"
    return svg.replace("</desc>", f"</desc>{style}{ground}", 1)


@cache
def _styles() -> Sequence[str]:
    """The rules with the colours of the light and of the dark theme."""
    folder = Path(settings.BASE_DIR) / "static" / "css"
    rules = (folder / "graph.css").read_text().partition(_IN_PAGES)[0]
    rules = re.sub(r"/\*.*?\*/|\s+", " ", rules, flags=re.DOTALL)
    values: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for name, light, dark, plain in _PROPERTY.findall((folder / "app.css").read_text()):
        values[0].setdefault(name, light or plain)
        values[1].setdefault(name, dark or plain)
    return [_with_values(rules, known) for known in values]


def _with_values(rules: str, known: Mapping[str, str]) -> str:
    return re.sub(r"var\((--[\w-]+)\)", lambda found: known[found[1]], rules)
