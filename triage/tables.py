"""A table as CSV, JSON, Markdown and LaTeX, each with its own rules for what must be escaped."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from django.http import HttpResponse

from triage.exports import harmless

__all__ = ["FORMATS", "Column", "Format", "Table", "table_download"]

Cell = str | int | None


@dataclass(frozen=True)
class Column:
    """`meaning` is its definition; what is not `printed` is left out of Markdown and LaTeX."""

    name: str
    title: str
    meaning: str = ""
    is_number: bool = False
    printed: bool = True


@dataclass(frozen=True)
class Table:
    """`name`: of the file; `caption`: what it shows, with its definition and its time."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Format:
    """`ending` is the file's; `write` gives its text."""

    ending: str
    title: str
    content_type: str
    write: Callable[[Table], str]


def as_csv(table: Table) -> str:
    """RFC 4180, under the columns' names; no text begins as a spreadsheet's formula."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow([column.name for column in table.columns])
    writer.writerows([harmless(cell) for cell in row] for row in table.rows)
    return text.getvalue()


def as_json(table: Table) -> str:
    """The caption, what each column means, and the rows as objects."""
    names = [column.name for column in table.columns]
    data = {
        "caption": table.caption,
        "columns": [
            {"name": one.name, "title": one.title, "meaning": one.meaning} for one in table.columns
        ],
        "rows": [dict(zip(names, row, strict=True)) for row in table.rows],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def as_markdown(table: Table) -> str:
    """A table as GitHub reads it, and a list of what the columns mean."""
    columns, rows = _printed(table)
    lines = [
        "| " + " | ".join(_markdown(one.title) for one in columns) + " |",
        "|" + "|".join("---:" if one.is_number else "---" for one in columns) + "|",
    ]
    lines += ["| " + " | ".join(_markdown(cell) for cell in row) + " |" for row in rows]
    meanings = [
        f"- {_markdown(one.title)}: {_markdown(one.meaning)}" for one in columns if one.meaning
    ]
    parts = [
        _markdown(table.caption),
        "\n".join(lines),
        *(["\n".join(meanings)] if meanings else []),
    ]
    return "\n\n".join(parts) + "\n"


def as_latex(table: Table) -> str:
    """A `table` with a `tabular` of booktabs; needs `\\usepackage{booktabs}` and UTF-8."""
    columns, rows = _printed(table)
    kinds = "".join("r" if one.is_number else "l" for one in columns)
    meanings = "; ".join(f"{one.title}: {one.meaning}" for one in columns if one.meaning)
    caption = f"{table.caption}{f' {meanings}.' if meanings else ''}"
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        f"\\caption{{{_latex(caption)}}}",
        f"\\begin{{tabular}}{{{kinds}}}",
        "\\toprule",
        " & ".join(_latex(one.title) for one in columns) + " \\\\",
        "\\midrule",
        *(" & ".join(_latex(cell) for cell in row) + " \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Format] = {
    one.ending: one
    for one in (
        Format("csv", "CSV", "text/csv", as_csv),
        Format("json", "JSON", "application/json", as_json),
        Format("md", "Markdown", "text/markdown", as_markdown),
        Format("tex", "LaTeX", "application/x-tex", as_latex),
    )
}


def table_download(table: Table, ending: str) -> HttpResponse:
    """The table as a file; `ending` is a key of `FORMATS`."""
    chosen = FORMATS[ending]
    response = HttpResponse(
        chosen.write(table), content_type=f"{chosen.content_type}; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{table.name}.{ending}"'
    return response


def _printed(table: Table) -> tuple[list[Column], list[list[Cell]]]:
    shown = [place for place, one in enumerate(table.columns) if one.printed]
    return (
        [table.columns[place] for place in shown],
        [[row[place] for place in shown] for row in table.rows],
    )


def _line(cell: Cell) -> str:
    return "" if cell is None else " ".join(str(cell).split())


_MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>|~#!&"})
_LATEX = str.maketrans(
    {
        "\\": "\\textbackslash{}",
        "{": "\\{",
        "}": "\\}",
        "$": "\\$",
        "&": "\\&",
        "#": "\\#",
        "%": "\\%",
        "_": "\\_",
        "~": "\\textasciitilde{}",
        "^": "\\textasciicircum{}",
        "<": "\\textless{}",
        ">": "\\textgreater{}",
        "|": "\\textbar{}",
        '"': "\\textquotedbl{}",
        # A row that begins with a bracket would be read as an argument of the line before.
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        "-": "{-}",
    }
)


def _markdown(cell: Cell) -> str:
    """One line without markup: what looks like it is escaped, addresses are left to be links."""
    line = _line(cell)
    is_address = line.startswith("https://") and not set(line) & set(" |<>\"'`\\")
    return f"<{line}>" if is_address else line.translate(_MARKDOWN)


def _latex(cell: Cell) -> str:
    return _line(cell).translate(_LATEX)
