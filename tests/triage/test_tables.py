"""Tables as CSV, JSON, Markdown and LaTeX: read back, they say what went in."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client
from markdown_it import MarkdownIt

from tests import factories
from triage.models import Following, UpstreamAnswer
from triage.report_exports import report_table, score_table
from triage.scoreboard import COLUMNS, scoreboard
from triage.selectors import report_list
from triage.tables import FORMATS, Column, Table

NASTY = (
    r"a_b & 50% of $x$ #1 {y} ~z ^w \end{tabular} \\ | pipe",
    '=HYPERLINK("https://evil.example")',
    "<script>alert(1)</script> **bold** `code` [link](x) ![image](y)",
    'two\nlines, "quoted", and a comma',
    "[bracket first], *star* and 出错 with <angle> -- dashes",
    "&amp; \\textbf{not bold} \\ ends with a backslash \\",
    "",
)
TABLE = Table(
    "nasty",
    "A caption with 5 % & more_of_it.",
    (
        Column("text", "Text"),
        Column("count", "Count_1", "how many & why", is_number=True),
        Column("hidden", "H", printed=False),
    ),
    [(one, number, "hidden") for number, one in enumerate(NASTY)],
)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_csv_is_read_back_and_starts_no_formula() -> None:
    rows = list(csv.reader(StringIO(FORMATS["csv"].write(TABLE))))
    assert rows[0] == ["text", "count", "hidden"]
    for row, (text, count, _) in zip(rows[1:], TABLE.rows, strict=True):
        assert row[0].removeprefix("'") == text
        assert row[1] == str(count)
        assert not row[0].startswith(("=", "+", "-", "@"))


def test_json_is_read_back() -> None:
    data = json.loads(FORMATS["json"].write(TABLE))
    assert [row["text"] for row in data["rows"]] == list(NASTY)
    assert data["columns"][1] == {"name": "count", "title": "Count_1", "meaning": "how many & why"}
    assert data["caption"] == TABLE.caption


class Cells(HTMLParser):
    """Texts of the cells of a table, and every tag that was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def test_markdown_is_read_back_without_markup() -> None:
    cells = Cells()
    cells.feed(
        MarkdownIt("commonmark", {"html": True}).enable("table").render(FORMATS["md"].write(TABLE))
    )
    assert cells.rows[0] == ["Text", "Count_1"]
    assert [row[0] for row in cells.rows[1:]] == [flat(one) for one in NASTY]
    assert [row[1] for row in cells.rows[1:]] == [str(number) for number in range(len(NASTY))]
    assert not cells.tags & {"script", "strong", "em", "code", "a", "img"}


def test_addresses_in_markdown_are_links_only_where_they_are_nothing_else() -> None:
    urls = ("https://a.example/issues/7", "https://a.example/> [x](javascript:alert(1))")
    table = Table("t", "c", (Column("url", "Address"),), [(one,) for one in urls])
    page = MarkdownIt().enable("table").render(FORMATS["md"].write(table))
    assert page.count("<a ") == 1
    assert 'href="https://a.example/issues/7"' in page


_COMMANDS = {
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textquotedbl": '"',
}


def unlatex(text: str) -> str:
    """What TeX would print; anything but escaped signs and known commands is an error."""
    found, rest = "", text
    while rest:
        if match := re.match(r"\\([a-z]+)\{\}", rest):
            found += _COMMANDS[match[1]]
        elif (match := re.match(r"\\([{}$&#%_])", rest)) or (
            match := re.match(r"\{([\[\]*-])\}", rest)
        ):
            found += match[1]
        else:
            match = re.match(r"[^\\{}$&#%_~^]", rest)
            assert match, f"TeX would not print {rest[:20]!r}"
            found += match[0]
        rest = rest[match.end() :]
    return found


def test_latex_is_read_back_and_runs_no_command() -> None:
    text = FORMATS["tex"].write(TABLE)
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
    lines = body.splitlines()
    assert len(lines) == len(NASTY)
    for line, nasty in zip(lines, NASTY, strict=True):
        assert line.endswith(" \\\\")
        cell, count = re.split(r"(?<!\\) & ", line.removesuffix(" \\\\"))
        assert unlatex(cell) == flat(nasty)
        assert count.isdecimal()
    caption = re.search(r"\\caption\{(.*)\}\n", text)
    assert caption is not None
    assert unlatex(caption[1]) == "A caption with 5 % & more_of_it. Count_1: how many & why."
    assert text.count("\\begin{") == text.count("\\end{") == 2
    assert "\\begin{tabular}{lr}" in text


@pytest.mark.django_db
def test_scoreboard_is_exported_with_its_definitions() -> None:
    factories.bucket(symptom="crash")
    table = score_table(scoreboard(), period="of all times")
    data = json.loads(FORMATS["json"].write(table))
    assert {one["name"]: one["meaning"] for one in data["columns"] if one["meaning"]} == {
        one.name: one.meaning for one in COLUMNS
    }
    assert data["rows"][-1]["framework"] == "Together"
    assert data["rows"][-1]["found"] == 1
    [crash] = [one for one in data["rows"] if one["symptom"] == "crash" and one["found"]]
    assert crash["framework"] == "PyTorch"


@pytest.mark.django_db
def test_reports_are_exported_with_dates_and_what_upstream_says() -> None:
    report = factories.report(status="reported", upstream_url="https://github.com/a/b/issues/7")
    Following.objects.create(
        report=report,
        site="github",
        address="x",
        observed="confirmed",
        state="open",
        labels=["actionable"],
    )
    UpstreamAnswer.objects.create(report=report, address="x", kind="answer", observed="confirmed")
    report.events.create(kind="moved", before="draft", after="reported")
    [row] = json.loads(FORMATS["json"].write(report_table(report_list())))["rows"]
    assert (row["observed"], row["upstream_labels"], row["status"]) == (
        "Confirmed",
        "actionable",
        "Reported",
    )
    assert row["reported_at"]
    assert row["upstream_confirmed_at"]
    assert row["fixed_at"] == ""


@pytest.mark.parametrize("ending", list(FORMATS))
@pytest.mark.parametrize("path", ["/triage/reports/export.{}", "/triage/scoreboard.{}"])
def test_downloads_are_files_of_their_kind(
    client: Client, person: User, path: str, ending: str
) -> None:
    factories.report(title="[ST] 5 % _wrong_")
    response = client.get(path.format(ending))
    assert response.status_code == 200
    assert response["Content-Type"] == f"{FORMATS[ending].content_type}; charset=utf-8"
    assert response["Content-Disposition"].endswith(f'.{ending}"')
    assert response.content.decode()


@pytest.mark.usefixtures("person")
def test_download_has_exactly_what_the_table_shows(client: Client) -> None:
    factories.report(title="first")
    factories.report(title="second", status="reported", upstream_url="https://a.example/1")
    rows = csv.DictReader(
        StringIO(client.get("/triage/reports/export.csv?status=draft").content.decode())
    )
    assert [row["title"] for row in rows] == ["first"]
    assert client.get("/triage/reports/export.exe").status_code == 404
    assert client.get("/triage/scoreboard.csv?since=nonsense").status_code == 404
    since = "/triage/scoreboard.json?since=2020-01-01T00:00:00&until=2020-02-01T00:00:00"
    assert json.loads(client.get(since).content)["rows"][-1]["found"] == 0
