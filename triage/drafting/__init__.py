"""Drafts: a finding in the words and fields of a tracker's form.

`variables` is what a template can say, `rendering` fills one in, `apart` does so in a process of
its own, and `versions` keeps every version of the templates of a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.finding import Finding
from triage.drafting.apart import render_apart
from triage.drafting.rendering import TITLE, render_form
from triage.drafting.variables import variables_of
from triage.trackers import Form, form_for

__all__ = ["TITLE_LENGTH", "Draft", "draft", "form_of"]

TITLE_LENGTH = 255


@dataclass(frozen=True)
class Draft:
    """What a new report starts with. `fields`: Markdown by the key of the form's field."""

    form: Form
    title: str
    fields: dict[str, str]


def form_of(finding: Finding) -> Form:
    """The form that a finding belongs in."""
    return form_for(finding.accused_framework, finding.accused_modes)


def draft(
    finding: Finding, texts: Mapping[str, str], *, form: Form | None = None, trusted: bool = False
) -> Draft:
    """A form filled in from a finding; `TemplateFaultError` where a text cannot be rendered.

    `texts`: templates by the key of the field, and the title's. Only the texts that we ship are
    `trusted`: the others are rendered in a process of their own.
    """
    form = form or form_of(finding)
    render = render_form if trusted else render_apart
    made = render(texts, variables_of(finding))
    title = made.pop(TITLE)[:TITLE_LENGTH]
    return Draft(form, title, made)
