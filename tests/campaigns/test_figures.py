"""Charts made on the server: Plotly's JSON and the table beside it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from plotly.offline import get_plotlyjs_version

from campaigns.figures import Figure, Series, bar_figure, line_figure

ROOT = Path(__file__).resolve().parents[2]
DAYS = [date(2026, 11, 1), date(2026, 11, 2)]


def made(figure: Figure | None) -> Figure:
    assert figure is not None
    return figure


def test_the_vendored_bundle_is_the_one_that_the_python_side_writes_for() -> None:
    head = (ROOT / "static/vendor/plotly/plotly-basic.min.js").read_text(encoding="utf-8")[:200]
    assert f"plotly.js (basic - minified) v{get_plotlyjs_version()}" in head
    assert (ROOT / "static/vendor/plotly/LICENSE").is_file()


def test_nothing_to_draw_is_no_figure() -> None:
    assert line_figure("empty", "Empty", [], []) is None
    assert bar_figure("empty", "Empty", [], []) is None


def test_line_and_table_say_the_same() -> None:
    figure = made(
        line_figure(
            "found", "Found", DAYS, [Series("crash", [1, None], "bad"), Series("state", [0, 2.5])]
        )
    )
    first, second = figure.plot["data"]
    assert (first["x"], first["y"]) == (["2026-11-01", "2026-11-02"], [1, None])
    assert first["line"]["color"] == "var(--bad)"
    assert first["line"]["dash"] != second["line"]["dash"], "told apart by colour alone"
    assert figure.plot["layout"]["xaxis"]["type"] == "date"
    assert figure.heads == ("crash", "state")
    assert figure.rows == (("2026-11-01", "1", "0"), ("2026-11-02", "", "2.5"))


def test_lying_bars_put_their_labels_on_the_left_and_grow_with_them() -> None:
    few, many = (
        made(
            bar_figure(
                "ops",
                "Ops",
                [f"op{i}" for i in range(count)],
                [Series("used", [1] * count)],
                lying=True,
            )
        )
        for count in (3, 30)
    )
    assert few.plot["data"][0]["y"] == ["op0", "op1", "op2"]
    assert few.plot["data"][0]["orientation"] == "h"
    assert many.plot["layout"]["height"] > few.plot["layout"]["height"]


def test_lone_point_has_no_scale_of_fractions() -> None:
    figure = made(line_figure("one", "One", DAYS[:1], [Series("a", [1])]))
    assert figure.plot["layout"]["xaxis"]["type"] == "category"


def test_bars_of_one_label_differ_by_pattern() -> None:
    figure = made(bar_figure("found", "Found", DAYS, [Series("a", [1, 2]), Series("b", [3, 4])]))
    patterns = [trace["marker"]["pattern"]["shape"] for trace in figure.plot["data"]]
    assert len(set(patterns)) == 2


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "<b>x</b>"])
def test_names_from_outside_cannot_leave_the_page_s_text(name: str) -> None:
    figure = made(
        line_figure("odd", name, [datetime(2026, 11, 1, 12, tzinfo=UTC)], [Series(name, [1])])
    )
    page = render_to_string("_figure.html", {"figure": figure})
    assert name not in page
    assert json.loads(page.split('type="application/json">')[1].split("</script>")[0])["data"]
    assert "2026-11-01 12:00" in page
