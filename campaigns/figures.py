"""Charts: Plotly figures made on the server, each with the table that says the same.

How a page shows one::

    figure = line_figure("found-per-day", "Findings per day", days, [Series("crash", counts)])

    {% block head %}{% include "_figure_scripts.html" %}{% endblock %}
    {% include "_figure.html" with figure=figure %}

The template writes the figure's JSON beside its table, and static/js/charts.js draws it; without
scripts the table is what is shown. `key` is unique on a page, and a fragment that is fetched anew
keeps the chart's zoom by it. Colours are names of the stylesheet's properties (`accent`, `good`,
`bad`, `warn`, `violet`, `muted`): the script reads their values and draws again when the theme
changes. A series differs from its neighbours by dash, marker or pattern too, not by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import plotly.graph_objects as go
from django.utils import timezone

__all__ = ["SYMPTOM_COLOURS", "Figure", "Series", "bar_figure", "line_figure"]

Label = str | int | float | date | datetime

# The colours of the chips of symptoms.
SYMPTOM_COLOURS: Mapping[str, str] = {
    "crash": "bad",
    "numerical": "violet",
    "state": "warn",
    "efficiency": "accent",
}
_COLOURS = ("accent", "good", "bad", "violet", "warn", "muted")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_PATTERNS = ("", "/", "x", ".", "-", "+")


@dataclass(frozen=True)
class Series:
    """One line or set of bars: a value for each label; None leaves a gap. `colour`: see above."""

    name: str
    values: Sequence[float | None]
    colour: str = ""


@dataclass(frozen=True)
class Figure:
    """What `_figure.html` shows: `plot` is Plotly's JSON, `heads` and `rows` the table."""

    key: str
    title: str
    plot: Mapping[str, Any] = field(repr=False)
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    note: str = ""

    @property
    def data_key(self) -> str:
        """The id of the element that holds the JSON."""
        return f"figure-{self.key}"


def line_figure(
    key: str,
    title: str,
    labels: Sequence[Label],
    series: Sequence[Series],
    *,
    unit: str = "",
    note: str = "",
    filled: bool = False,
) -> Figure | None:
    """Lines over times, days or numbers; None where there is no label.

    `unit` names the axis of values, `note` is one sentence under the chart, and `filled` stacks
    the lines as areas.
    """
    if not labels:
        return None
    traces = [
        go.Scatter(
            x=_axis(labels),
            y=list(one.values),
            name=one.name,
            mode="lines+markers" if len(labels) < 40 else "lines",
            line={"color": _colour(one, number), "dash": _DASHES[number % 6], "width": 2},
            marker={"symbol": number % 6, "size": 5},
            stackgroup="all" if filled else None,
        )
        for number, one in enumerate(series)
    ]
    return _figure(key, title, labels, series, traces, unit=unit, note=note)


def bar_figure(
    key: str,
    title: str,
    labels: Sequence[Label],
    series: Sequence[Series],
    *,
    unit: str = "",
    note: str = "",
    lying: bool = False,
) -> Figure | None:
    """Bars, those of one label on top of each other; None where there is no label.

    `lying` draws them from left to right, the first label on top: for names of any length.
    """
    if not labels:
        return None
    traces = []
    for number, one in enumerate(series):
        along, values = _axis(labels), list(one.values)
        traces.append(
            go.Bar(
                x=values if lying else along,
                y=along if lying else values,
                orientation="h" if lying else "v",
                name=one.name,
                marker={
                    "color": _colour(one, number),
                    "pattern": {
                        "shape": _PATTERNS[number % 6],
                        "fillmode": "overlay",
                        "fgcolor": "var(--surface)",
                        "fgopacity": 0.6,
                        "size": 6,
                    },
                },
            )
        )
    return _figure(key, title, labels, series, traces, unit=unit, note=note, lying=lying)


def _figure(
    key: str,
    title: str,
    labels: Sequence[Label],
    series: Sequence[Series],
    traces: Sequence[Any],
    *,
    unit: str,
    note: str,
    lying: bool = False,
) -> Figure:
    values = {"title": {"text": unit}, "rangemode": "tozero", "automargin": True}
    if _is_small(series):
        values["dtick"] = 1
    names = {"automargin": True, "type": _axis_type(labels)}
    if lying:
        names |= {"autorange": "reversed", "ticksuffix": " "}
    layout = go.Layout(
        template="none",
        barmode="stack",
        xaxis=values if lying else names,
        yaxis=names if lying else values,
        showlegend=len(series) > 1,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"},
        margin={"l": 8, "r": 12, "t": 8, "b": 8},
        hovermode="y unified" if lying else "x unified",
        height=max(120, 44 + 24 * len(labels)) if lying else 250,
        uirevision=key,
    )
    made = go.Figure(list(traces), layout).to_plotly_json()
    made["layout"].pop("template")
    rows = tuple(
        (_said(label), *map(_number, values))
        for label, *values in zip(labels, *(one.values for one in series), strict=True)
    )
    return Figure(key, title, made, tuple(one.name for one in series), rows, note)


def _said(label: Label) -> str:
    """A label as the table says it."""
    return (
        f"{timezone.localtime(label):%Y-%m-%d %H:%M}" if isinstance(label, datetime) else f"{label}"
    )


def _number(value: float | None) -> str:
    """At most four digits after the point; empty where there is nothing."""
    return "" if value is None else f"{round(value, 4):,}".removesuffix(".0")


def _colour(one: Series, number: int) -> str:
    return f"var(--{one.colour or _COLOURS[number % len(_COLOURS)]})"


def _is_small(series: Sequence[Series]) -> bool:
    """Whether Plotly would mark fractions of counts: whole numbers below four."""
    values = [value for one in series for value in one.values if value is not None]
    return all(value == round(value) for value in values) and max(values, default=0) < 4


def _axis_type(labels: Sequence[Label]) -> str:
    """A lone point has no scale: Plotly would divide it into fractions of a second."""
    if len(labels) == 1 or isinstance(labels[0], str):
        return "category"
    return "date" if isinstance(labels[0], date) else "linear"


def _axis(labels: Sequence[Label]) -> list[str | int | float]:
    """Times as Plotly reads them: local, without an offset."""
    return [_local(one) if isinstance(one, date) else one for one in labels]


def _local(when: date) -> str:
    if isinstance(when, datetime):
        return f"{timezone.localtime(when):%Y-%m-%d %H:%M:%S}"
    return when.isoformat()
