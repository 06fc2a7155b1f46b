"""The navigation, with the counts that say where work is waiting, and links that undo."""

from __future__ import annotations

import uuid
from typing import Any

from django import template
from django.template import RequestContext
from django.urls import reverse

from triage.selectors import navigation_counts

__all__ = ["navigation", "undo_url"]

register = template.Library()


@register.inclusion_tag("_navigation.html", takes_context=True)
def navigation(context: RequestContext) -> dict[str, Any]:
    """Links to the parts, with counts, in one query."""
    request = context["request"]
    match = request.resolver_match
    return {
        "counts": navigation_counts(),
        "part": f"{match.app_name}:{match.url_name}" if match else "",
    }


@register.filter
def undo_url(tags: str) -> str:
    """The address that takes back the action whose message carries the tag `undo:BATCH`."""
    batch = next(tag.removeprefix("undo:") for tag in tags.split() if tag.startswith("undo:"))
    return reverse("triage:undo-batch", args=[uuid.UUID(batch)])
