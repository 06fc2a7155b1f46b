"""Filters that show evidence: code, Markdown, differences."""

from __future__ import annotations

from django import template

from triage import text

__all__: list[str] = []

register = template.Library()
register.filter("markdown", text.markdown)
register.filter("python", text.python)
register.filter("log", text.log)
register.filter("changed_lines", text.changed_lines)
