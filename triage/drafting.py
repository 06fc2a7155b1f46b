"""Drafts: a finding in the words and fields of a tracker's form.

The templates in `triage/drafts/` are Jinja, run in its sandbox.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.finding import Finding
from triage.trackers import Form, form_for

__all__ = ["Draft", "draft", "draft_title", "without_places"]

_TITLE_LENGTH = 255
_SUMMARY_LENGTH = 160


@dataclass(frozen=True)
class Draft:
    """What a new report starts with. `fields`: Markdown by the key of the form's field."""

    form: Form
    title: str
    fields: dict[str, str]


def draft(finding: Finding) -> Draft:
    """The form that the finding belongs in, filled in."""
    form = form_for(finding.accused_framework, finding.accused_modes)
    environment = _environment()
    fields = {
        field.key: _tidy(
            environment.get_template(f"{form.key}/{field.key}.md").render(finding=finding)
        )
        for field in form.fields
    }
    return Draft(form, draft_title(finding, form), fields)


def draft_title(finding: Finding, form: Form) -> str:
    """The finding's title in the tracker's manner, at most 255 characters."""
    if form.key == "mindspore-bug":
        part = finding.accused_op or "operator"
        return f"[ST][MS][{part}] {finding.title}"[:_TITLE_LENGTH]
    compiled = form.key == "pytorch-pt2" and "compile" not in finding.title.lower()
    return f"{'[torch.compile] ' if compiled else ''}{finding.title}"[:_TITLE_LENGTH]


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(Path(__file__).parent / "drafts"),
        undefined=StrictUndefined,
        trim_blocks=False,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {"cell": _cell, "error": _error}
    return environment


def _cell(text: str) -> str:
    """One line that cannot end a table's cell."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= _SUMMARY_LENGTH else f"{line[: _SUMMARY_LENGTH - 1]}…"


def _error(error: float | None) -> str:
    return "" if error is None else f"{error:.3g}"


def _tidy(text: str) -> str:
    """At most one empty line in a row outside of code, none at the ends."""
    pieces = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    tidy = [
        piece if index % 2 else re.sub(r"\n{3,}", "\n\n", piece)
        for index, piece in enumerate(pieces)
    ]
    return without_places("".join(tidy).strip() + "\n")


def without_places(text: str) -> str:
    """Paths of files as a stranger needs them: from the package on, or the file's name alone."""
    text = re.sub(r"(?<![\w.:/])(?:/[\w.+@ -]+)+?/(?=(?:site|dist)-packages/)", ".../", text)
    text = re.sub(r"(?<![\w.:/])(?:/[\w.+@-]+)+/(?=python3\.\d+/)", ".../", text)
    return re.sub(r'(?<=File ")/(?:[\w.+@ -]+/)+(?=[\w.+@-]+\.py")', "", text)
