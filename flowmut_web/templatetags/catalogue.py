"""What pages of the catalogue share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

__all__ = ["breakable", "coded", "sorted_values", "tabs"]

register = template.Library()
_OPEN, _CLOSE = SafeString("<code>"), SafeString("</code>")
_TABS = (
    ("catalogue:list-mutators", "Mutations"),
    ("catalogue:list-operators", "Operators"),
    ("catalogue:list-seeds", "Seeds"),
)


@register.inclusion_tag("catalogue/_tabs.html")
def tabs(here: str) -> dict[str, Any]:
    """Links to the parts of the catalogue."""
    return {"tabs": _TABS, "here": here}


@register.filter
def breakable(name: str) -> SafeString:
    """A dotted name that may wrap after its dots."""
    *first, last = name.split(".")
    parts = [f"{one}." for one in first]
    return format_html_join(SafeString("<wbr>"), "{}", ((one,) for one in [*parts, last]))


@register.filter
def coded(text: str) -> SafeString:
    """Text in which what stands between backticks is code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "", "{}{}{}", ((_OPEN, one, _CLOSE) if at % 2 else ("", one, "") for at, one in parts)
    )


@register.filter("sorted")
def sorted_values(values: Iterable[str]) -> list[str]:
    """In alphabetic order; sets have none."""
    return sorted(values)
