"""Places of a graph's boxes and the curves between them, from sources at the top to results below.

Graphviz does it where its `dot` is installed; else the layered layout of this module: longest-path
layers, orders by barycentre, and columns that settle towards their neighbours' mean.
"""

from __future__ import annotations

import itertools
import math
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

__all__ = ["Box", "Curve", "Layout", "Link", "layered", "place", "with_graphviz"]

_GAP_X, _GAP_Y = 26.0, 44.0
_DUMMY = 8.0
_LABEL_HEIGHT = 14
_SWEEPS = 6
_POINTS = 72.0
_SECONDS = 20


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


def place(boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """By Graphviz where it is installed, else by `layered`."""
    dot = shutil.which("dot")
    return with_graphviz(boxes, links, dot=dot) if dot else layered(boxes, links)


# ----------------------------------------------------------------------------------- Graphviz
def with_graphviz(boxes: Sequence[Box], links: Sequence[Link], *, dot: str) -> Layout:
    """Ask `dot` for its plain format; `RuntimeError` says what it said."""
    names = {box.id: f"n{index}" for index, box in enumerate(boxes)}
    lines = ["digraph {", f"nodesep={_GAP_X / _POINTS}; ranksep={_GAP_Y / _POINTS};"]
    lines += [
        f"{names[box.id]} [shape=box fixedsize=true width={box.width / _POINTS} "
        f"height={box.height / _POINTS}];"
        for box in boxes
    ]
    # The number of each link travels as its colour, since plain output has no ids.
    lines += [
        f"{names[link.source]} -> {names[link.target]} "
        f'[arrowhead=none color="{index}"{_room(link)}];'
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
def layered(boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """A layered layout of an acyclic graph; links that would close a cycle do not rank."""
    by_id = {box.id: box for box in boxes}
    rank = _ranks(boxes, links)
    if any(link.label_width for link in links):
        # A layer between any two, where texts stand.
        rank = {name: 2 * depth for name, depth in rank.items()}
    chains, widths, rank = _with_dummies(by_id, links, rank)
    layers: dict[int, list[str]] = defaultdict(list)
    for name, depth in rank.items():
        layers[depth].append(name)
    rows = [layers[depth] for depth in sorted(layers)]
    above, below = _neighbours(chains)
    _order(rows, above, below)
    x = _columns(rows, widths, above, below)
    y, height = _heights(rows, by_id)
    left = min((x[name] - widths[name] / 2 for name in x), default=0.0)
    right = max((x[name] + widths[name] / 2 for name in x), default=0.0)
    spots = {name: (x[name] - left, y[name]) for name in x}
    curves = []
    for link, chain in zip(links, chains, strict=True):
        curve = _curve([spots[name] for name in chain], by_id, chain)
        if link.label_width and len(chain) > 2:
            curve = replace(curve, label=spots[chain[len(chain[1:-1]) // 2 + 1]])
        curves.append(curve)
    return Layout(right - left, height, {name: spots[name] for name in by_id}, tuple(curves))


def _ranks(boxes: Sequence[Box], links: Sequence[Link]) -> dict[str, int]:
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


def _with_dummies(
    by_id: Mapping[str, Box], links: Sequence[Link], rank: dict[str, int]
) -> tuple[list[list[str]], dict[str, float], dict[str, int]]:
    """Each link as a chain of names, one in every layer it passes."""
    widths = {name: box.width for name, box in by_id.items()}
    rank = dict(rank)
    chains = []
    for number, link in enumerate(links):
        first, last = rank[link.source], rank[link.target]
        step = 1 if last >= first else -1
        middle = [f"\0{number}.{depth}" for depth in range(first + step, last, step)]
        for depth, name in zip(range(first + step, last, step), middle, strict=True):
            rank[name], widths[name] = depth, _DUMMY
        if middle and link.label_width:
            widths[middle[len(middle) // 2]] = link.label_width
        chains.append([link.source, *middle, link.target])
    return chains, widths, rank


def _neighbours(
    chains: Sequence[Sequence[str]],
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    above: dict[str, list[str]] = defaultdict(list)
    below: dict[str, list[str]] = defaultdict(list)
    for chain in chains:
        for upper, lower in itertools.pairwise(chain):
            above[lower].append(upper)
            below[upper].append(lower)
    return above, below


def _order(
    rows: list[list[str]], above: Mapping[str, list[str]], below: Mapping[str, list[str]]
) -> None:
    """Sort each row by the mean place of its neighbours, down and up in turn."""
    for sweep in range(_SWEEPS):
        near = above if sweep % 2 == 0 else below
        place_of = {name: index for row in rows for index, name in enumerate(row)}
        for row in rows if sweep % 2 == 0 else reversed(rows):
            keys = {
                name: _mean([place_of[other] for other in near.get(name, ())], place_of[name])
                for name in row
            }
            row.sort(key=lambda name: keys[name])
            place_of.update({name: index for index, name in enumerate(row)})


def _columns(
    rows: Sequence[Sequence[str]],
    widths: Mapping[str, float],
    above: Mapping[str, list[str]],
    below: Mapping[str, list[str]],
) -> dict[str, float]:
    x: dict[str, float] = {}
    for row in rows:
        at = 0.0
        for name in row:
            x[name] = at + widths[name] / 2
            at += widths[name] + _GAP_X
    for sweep in range(2 * _SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean([x[other] for other in near.get(name, ())], x[name]) for name in row]
            x.update(zip(row, _separated(wanted, [widths[name] for name in row]), strict=True))
    return x


def _separated(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Centres near the wanted ones, in the same order, that do not overlap.

    Neighbours that collide move as one group to the mean of what its members want.
    """
    groups: list[tuple[float, int, list[int]]] = []
    offsets = [0.0]
    for one, two in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (one + two) / 2 + _GAP_X)
    for index, want in enumerate(wanted):
        groups.append((want - offsets[index], 1, [index]))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, count_a, ids_a), (b, count_b, ids_b) = groups[-2:]
            mean = (a * count_a + b * count_b) / (count_a + count_b)
            groups[-2:] = [(mean, count_a + count_b, ids_a + ids_b)]
    return [base + offsets[index] for base, _, members in groups for index in members]


def _heights(
    rows: Sequence[Sequence[str]], by_id: Mapping[str, Box]
) -> tuple[dict[str, float], float]:
    """Centres from above, and the height of all. A row of waypoints alone takes half the gap."""
    y: dict[str, float] = {}
    at = bottom = 0.0
    for row in rows:
        boxes = [by_id[name].height for name in row if name in by_id]
        tall = max(boxes, default=float(_LABEL_HEIGHT))
        y.update(dict.fromkeys(row, at + tall / 2))
        bottom = at + tall
        at = bottom + (_GAP_Y if boxes else _GAP_Y / 2)
    return y, bottom


def _curve(
    spots: Sequence[tuple[float, float]], by_id: Mapping[str, Box], chain: Sequence[str]
) -> Curve:
    """From the lower side of the source to the upper side of the target, through the dummies."""
    (x0, y0), *middle, (x1, y1) = spots
    down = y1 >= y0
    start = (x0, y0 + by_id[chain[0]].height / 2 * (1 if down else -1))
    end = (x1, y1 - by_id[chain[-1]].height / 2 * (1 if down else -1))
    stops = [start, *middle, end]
    points = [start]
    for (ax, ay), (bx, by) in itertools.pairwise(stops):
        half = (ay + by) / 2
        points += [(ax, half), (bx, half), (bx, by)]
    return Curve(tuple(points))


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
