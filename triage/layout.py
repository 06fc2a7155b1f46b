"""Places of a graph's boxes and the curves between them, from sources at the top to results below.

Graphviz does it where its `dot` is installed; else the layered layout of this module: longest-path
layers, orders by barycentre, and columns that settle towards their neighbours' mean. In both, what
only one box uses (a weight) stands beside the way that leads through and does not bend it.
"""

from __future__ import annotations

import itertools
import logging
import math
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

__all__ = ["Box", "Curve", "Layout", "Link", "engine", "layered", "place", "ranks", "with_graphviz"]

_GAP_X, _GAP_Y = 26.0, 44.0
_DUMMY = 8.0
_LABEL_HEIGHT = 14
_SWEEPS = 6
# Rows on either side whose mean place is taken for the drift of a deep graph.
_PLUMB = 24
_POINTS = 72.0
_SECONDS = 20
# How hard an edge from something that only one box uses pulls, against 1 for any other.
_ASIDE = 0.02
# In larger graphs, Graphviz gives up its search for shorter edges and fewer crossings sooner.
_HASTE, _HASTE_FROM = "nslimit=2; nslimit1=2; mclimit=0.5;", 300

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Box:
    """Something to place: its size in SVG units."""

    id: str
    width: float
    height: float


@dataclass(frozen=True)
class Link:
    """From one box to another; `label_width` is the room that its text needs, 0 without one."""

    source: str
    target: str
    label_width: float = 0.0


@dataclass(frozen=True)
class Curve:
    """The way of one link: the first point, then triples of Bezier control points.

    `label`: centre of the room for its text, None where none was asked for.
    """

    points: tuple[tuple[float, float], ...]
    label: tuple[float, float] | None = None

    @property
    def path(self) -> str:
        (x, y), *rest = self.points
        return f"M{x:.1f} {y:.1f}C" + " ".join(f"{a:.1f} {b:.1f}" for a, b in rest)

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of the middle segment."""
        segment = (len(self.points) - 1) // 3 // 2 * 3
        a, b, c, d = self.points[segment : segment + 4]
        return (
            (a[0] + 3 * b[0] + 3 * c[0] + d[0]) / 8,
            (a[1] + 3 * b[1] + 3 * c[1] + d[1]) / 8,
        )

    @property
    def end(self) -> tuple[float, float]:
        return self.points[-1]

    @property
    def arrival(self) -> float:
        """Direction at the end, in degrees clockwise from the right."""
        ends = itertools.pairwise(reversed(self.points))
        (bx, by), (ax, ay) = next(pair for pair in ends if pair[0] != pair[1])
        return math.degrees(math.atan2(by - ay, bx - ax))


@dataclass(frozen=True)
class Layout:
    """Centres of boxes, and curves in the order of the links."""

    width: float
    height: float
    centres: Mapping[str, tuple[float, float]]
    curves: tuple[Curve, ...]


def engine() -> str:
    """Which of the two lays out on this machine: "graphviz" or "layered"."""
    return "graphviz" if shutil.which("dot") else "layered"


def place(boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """By Graphviz where it is installed and manages, else by `layered`."""
    dot = shutil.which("dot")
    if dot is None:
        return layered(boxes, links)
    try:
        return with_graphviz(boxes, links, dot=dot)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        _log.warning("Graphviz did not lay out %d boxes: %s", len(boxes), error)
        return layered(boxes, links)


def _aside(boxes: Sequence[Box], links: Sequence[Link]) -> set[str]:
    """Boxes that nothing leads to and one link leaves."""
    leaving = Counter(link.source for link in links)
    entered = {link.target for link in links}
    return {box.id for box in boxes if box.id not in entered and leaving[box.id] == 1}


# ----------------------------------------------------------------------------------- Graphviz
def with_graphviz(boxes: Sequence[Box], links: Sequence[Link], *, dot: str) -> Layout:
    """Ask `dot` for its plain format; `RuntimeError` says what it said, `TimeoutExpired` that it
    took too long."""
    names = {box.id: f"n{index}" for index, box in enumerate(boxes)}
    aside = _aside(boxes, links)
    haste = _HASTE if len(boxes) > _HASTE_FROM else ""
    lines = ["digraph {", f"nodesep={_GAP_X / _POINTS}; ranksep={_GAP_Y / _POINTS}; {haste}"]
    lines += [
        f"{names[box.id]} [shape=box fixedsize=true width={box.width / _POINTS} "
        f"height={box.height / _POINTS}];"
        for box in boxes
    ]
    # The number of each link travels as its colour, since plain output has no ids.
    lines += [
        f"{names[link.source]} -> {names[link.target]} [arrowhead=none "
        f'weight={1 if link.source in aside else 8} color="{index}"{_room(link)}];'
        for index, link in enumerate(links)
    ]
    done = subprocess.run(
        [dot, "-Tplain"],
        input="\n".join([*lines, "}"]),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"dot: {done.stderr.strip()[:500]}")
    return _from_plain(done.stdout, boxes, links)


def _room(link: Link) -> str:
    """An empty table of the label's size, since Graphviz knows no font of ours."""
    if not link.label_width:
        return ""
    cell = f'<td width="{link.label_width:.0f}" height="{_LABEL_HEIGHT}"></td>'
    return f' label=<<table border="0" cellpadding="0" cellspacing="0"><tr>{cell}</tr></table>>'


def _from_plain(plain: str, boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """Inches from below become units from above."""
    width = height = 0.0
    centres: dict[str, tuple[float, float]] = {}
    curves: dict[int, Curve] = {}
    for line in plain.splitlines():
        kind, *words = line.split()
        if kind == "graph":
            width, height = float(words[1]) * _POINTS, float(words[2]) * _POINTS
        elif kind == "node":
            box = boxes[int(words[0][1:])]
            centres[box.id] = (float(words[1]) * _POINTS, height - float(words[2]) * _POINTS)
        elif kind == "edge":
            count = int(words[2])
            numbers = [float(word) * _POINTS for word in words[3 : 3 + 2 * count]]
            points = zip(numbers[::2], numbers[1::2], strict=True)
            label = words[3 + 2 * count : -2]
            curves[int(words[-1])] = Curve(
                tuple((x, height - y) for x, y in points),
                (float(label[1]) * _POINTS, height - float(label[2]) * _POINTS) if label else None,
            )
    return Layout(width, height, centres, tuple(curves[index] for index in range(len(links))))


# ------------------------------------------------------------------------------------ layered
class _Net:
    """Boxes, then waypoints, by number: one waypoint in every layer that a link passes."""

    def __init__(self, boxes: Sequence[Box], links: Sequence[Link]) -> None:
        number = {box.id: index for index, box in enumerate(boxes)}
        aside = _aside(boxes, links)
        rank = ranks(boxes, links)
        # A layer between any two, where texts stand.
        step = 2 if any(link.label_width for link in links) else 1
        self.rank = [step * rank[box.id] for box in boxes]
        self.widths = [box.width for box in boxes]
        # How much a place counts when neighbours in a row collide.
        self.firm = [_ASIDE if box.id in aside else 1.0 for box in boxes]
        self.chains = [self._chain(link, number) for link in links]
        count = len(self.rank)
        self.above: list[list[tuple[int, float]]] = [[] for _ in range(count)]
        self.below: list[list[tuple[int, float]]] = [[] for _ in range(count)]
        for link, chain in zip(links, self.chains, strict=True):
            pull = _ASIDE if link.source in aside else 1.0
            for upper, lower in itertools.pairwise(chain):
                self.above[lower].append((upper, pull))
                self.below[upper].append((lower, 1.0))
        layers: dict[int, list[int]] = defaultdict(list)
        for one, depth in enumerate(self.rank):
            layers[depth].append(one)
        self.rows = [layers[depth] for depth in sorted(layers)]

    def _chain(self, link: Link, number: Mapping[str, int]) -> list[int]:
        first, last = number[link.source], number[link.target]
        step = 1 if self.rank[last] >= self.rank[first] else -1
        depths = range(self.rank[first] + step, self.rank[last], step)
        middle = list(range(len(self.rank), len(self.rank) + len(depths)))
        self.rank.extend(depths)
        self.widths.extend(_DUMMY for _ in depths)
        self.firm.extend(1.0 for _ in depths)
        if middle and link.label_width:
            self.widths[middle[len(middle) // 2]] = link.label_width
        return [first, *middle, last]


def layered(boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """A layered layout of an acyclic graph; links that would close a cycle do not rank."""
    net = _Net(boxes, links)
    _order(net)
    x = _columns(net)
    y, height = _heights(net, boxes)
    left = min((at - wide / 2 for at, wide in zip(x, net.widths, strict=True)), default=0.0)
    right = max((at + wide / 2 for at, wide in zip(x, net.widths, strict=True)), default=0.0)
    spots = [(at - left, down) for at, down in zip(x, y, strict=True)]
    curves = []
    for link, chain in zip(links, net.chains, strict=True):
        ends = boxes[chain[0]].height / 2, boxes[chain[-1]].height / 2
        curve = _curve([spots[one] for one in chain], ends)
        if link.label_width and len(chain) > 2:
            curve = replace(curve, label=spots[chain[len(chain[1:-1]) // 2 + 1]])
        curves.append(curve)
    centres = {box.id: spots[index] for index, box in enumerate(boxes)}
    return Layout(right - left, height, centres, tuple(curves))


def ranks(boxes: Sequence[Box], links: Sequence[Link]) -> dict[str, int]:
    """Length of the longest way from a source. Boxes come in an order of execution."""
    position = {box.id: index for index, box in enumerate(boxes)}
    rank = {box.id: 0 for box in boxes}
    incoming: dict[str, list[str]] = defaultdict(list)
    outgoing: dict[str, list[str]] = defaultdict(list)
    for link in links:
        if position[link.source] < position[link.target]:
            incoming[link.target].append(link.source)
            outgoing[link.source].append(link.target)
    for box in boxes:
        rank[box.id] = max((rank[source] + 1 for source in incoming[box.id]), default=0)
    for box in boxes:
        # An input stands just above its first user, not at the top of everything.
        if not incoming[box.id] and outgoing[box.id]:
            rank[box.id] = min(rank[target] for target in outgoing[box.id]) - 1
    return rank


def _order(net: _Net) -> None:
    """Sort each row by the mean place of its neighbours, down and up in turn."""
    place_of = [0.0] * len(net.rank)
    for row in net.rows:
        for index, one in enumerate(row):
            place_of[one] = float(index)
    for sweep in range(_SWEEPS):
        near = net.above if sweep % 2 == 0 else net.below
        for row in net.rows if sweep % 2 == 0 else reversed(net.rows):
            keys = {one: _mean(near[one], place_of, own=one) for one in row}
            row.sort(key=keys.__getitem__)
            for index, one in enumerate(row):
                place_of[one] = float(index)


def _columns(net: _Net) -> list[float]:
    x = [0.0] * len(net.rank)
    for row in net.rows:
        at = 0.0
        for one in row:
            x[one] = at + net.widths[one] / 2
            at += net.widths[one] + _GAP_X
    for sweep in range(2 * _SWEEPS):
        near = net.above if sweep % 2 == 0 else net.below
        for row in net.rows if sweep % 2 == 0 else reversed(net.rows):
            wanted = [_mean(near[one], x, own=one) for one in row]
            widths, firm = [net.widths[one] for one in row], [net.firm[one] for one in row]
            spots = _separated(wanted, widths, firm)
            for one, spot in zip(row, spots, strict=True):
                x[one] = spot
    return _plumb(net, x)


def _plumb(net: _Net, x: Sequence[float]) -> list[float]:
    """The same without the drift to one side that adds up in deep graphs: each row moves by the
    mean of the rows round it."""
    sums = list(itertools.accumulate((sum(x[one] for one in row) for row in net.rows), initial=0.0))
    counts = list(itertools.accumulate((len(row) for row in net.rows), initial=0))
    moved = list(x)
    for place, row in enumerate(net.rows):
        first, last = max(0, place - _PLUMB), min(len(net.rows), place + _PLUMB + 1)
        drift = (sums[last] - sums[first]) / (counts[last] - counts[first])
        for one in row:
            moved[one] -= drift
    return moved


def _separated(
    wanted: Sequence[float], widths: Sequence[float], firm: Sequence[float]
) -> list[float]:
    """Centres near the wanted ones, in the same order, that do not overlap.

    Neighbours that collide move as one group to the mean of what its members want.
    """
    offsets = [0.0]
    for one, two in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (one + two) / 2 + _GAP_X)
    groups: list[tuple[float, float, int]] = []
    for index, want in enumerate(wanted):
        groups.append((want - offsets[index], firm[index], 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, firm_a, count_a), (b, firm_b, count_b) = groups[-2:]
            both = firm_a + firm_b
            groups[-2:] = [((a * firm_a + b * firm_b) / both, both, count_a + count_b)]
    bases = [base for base, _, count in groups for _ in range(count)]
    return [base + offset for base, offset in zip(bases, offsets, strict=False)]


def _heights(net: _Net, boxes: Sequence[Box]) -> tuple[list[float], float]:
    """Centres from above, and the height of all. A row of waypoints alone takes half the gap."""
    y = [0.0] * len(net.rank)
    at = bottom = 0.0
    for row in net.rows:
        tall = max((boxes[one].height for one in row if one < len(boxes)), default=0.0)
        for one in row:
            y[one] = at + (tall or _LABEL_HEIGHT) / 2
        bottom = at + (tall or _LABEL_HEIGHT)
        at = bottom + (_GAP_Y if tall else _GAP_Y / 2)
    return y, bottom


def _curve(spots: Sequence[tuple[float, float]], ends: tuple[float, float]) -> Curve:
    """From the lower side of the source to the upper side of the target, through the waypoints.

    `ends`: half the heights of the two boxes.
    """
    (x0, y0), *middle, (x1, y1) = spots
    way = 1 if y1 >= y0 else -1
    start, end = (x0, y0 + ends[0] * way), (x1, y1 - ends[1] * way)
    points = [start]
    for (ax, ay), (bx, by) in itertools.pairwise([start, *middle, end]):
        half = (ay + by) / 2
        points += [(ax, half), (bx, half), (bx, by)]
    return Curve(tuple(points))


def _mean(near: Sequence[tuple[int, float]], of: Sequence[float], *, own: int) -> float:
    """Mean of the neighbours' values by their pull; one's own where there are none."""
    pull = sum(weight for _, weight in near)
    return sum(of[one] * weight for one, weight in near) / pull if near else of[own]
