"""Charts as plain numbers: points of SVG lines that a template draws, and the table beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Chart", "Line", "Tick", "line_chart"]

_WIDTH, _HEIGHT = 800, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 8, 22


@dataclass(frozen=True)
class Line:
    """One series. `points`: the value of SVG's `points`; `style`: its class."""

    name: str
    style: str
    points: str
    last: float


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """Lines over a common axis. Sizes and positions are in SVG units."""

    width: int
    height: int
    left: int
    right: int
    bottom: int
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def line_chart(
    labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], *, step: int = 5
) -> Chart | None:
    """Lines of `series` (name, one value for each label); None where there is nothing to draw."""
    if len(labels) < 2:
        return None
    top = max((max(values) for _, values in series), default=0) or 1
    styles = ("one", "two", "three")
    x = [
        _LEFT + index * (_WIDTH - _LEFT - _RIGHT) / (len(labels) - 1)
        for index in range(len(labels))
    ]
    lines = tuple(
        Line(
            name,
            styles[number % len(styles)],
            " ".join(
                f"{left:.1f},{_y(value, top):.1f}" for left, value in zip(x, values, strict=True)
            ),
            values[-1],
        )
        for number, (name, values) in enumerate(series)
    )
    shown = sorted({round(i * (len(labels) - 1) / (step - 1)) for i in range(step)})
    return Chart(
        _WIDTH,
        _HEIGHT,
        _LEFT,
        _WIDTH - _RIGHT,
        _HEIGHT - _BOTTOM,
        lines,
        tuple(Tick(round(x[index], 1), labels[index]) for index in shown),
        tuple(Tick(round(_y(value, top), 1), f"{value:g}") for value in _round_values(top)),
    )


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _BOTTOM - _TOP)


def _round_values(top: float) -> list[float]:
    """Zero and up to four round values below `top`."""
    magnitude = 10.0 ** (len(str(int(top))) - 1)
    gap = next(
        part * magnitude for part in (0.1, 0.2, 0.5, 1, 2, 5) if top / (part * magnitude) <= 5
    )
    if top >= 1:
        gap = max(1.0, gap)
    return [gap * index for index in range(int(top / gap) + 1)]
