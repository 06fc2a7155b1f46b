"""Filters that show evidence: code, Markdown, differences."""

from __future__ import annotations

from django import template

from engine.seeds import SEEDS
from triage import text
from triage.picture import MARKS, WORDS

__all__: list[str] = []

register = template.Library()
register.filter("markdown", text.markdown)
register.filter("python", text.python)
register.filter("index", text.index)
register.filter("log", text.log)
register.filter("times", text.times)
register.filter("changed_lines", text.changed_lines)


@register.filter
def change_words(status: str) -> str:
    """The mark and the word of what happened to a node or an edge."""
    return f"{MARKS.get(status, '')} {WORDS[status]}".strip()


@register.filter
def change_colour(status: str) -> str:
    """The class that colours it; the words say the same."""
    return {"added": "good", "removed": "bad", "changed": "warn"}.get(status, "muted")


@register.filter
def is_shipped_seed(name: str) -> bool:
    """Whether a seed has a page."""
    return name in SEEDS
