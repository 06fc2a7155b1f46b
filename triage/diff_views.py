"""The page of a change in the data flow, its panel alone, and its picture as a file."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from triage.bucket_views import load_finding
from triage.graph_panel import finding_panel

__all__ = ["download_picture", "show_diff"]


@require_safe
def show_diff(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The change on a page of its own, or the panel alone for the script that swaps it."""
    record = load_finding(uuid)
    context = {
        "record": record,
        "bucket": record.bucket,
        "panel": finding_panel(record, request.GET),
    }
    alone = request.headers.get("HX-Request")
    template = "triage/diff_panel.html" if alone else "triage/diff.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def download_picture(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What the page with the same query shows, as SVG."""
    panel = finding_panel(load_finding(uuid), request.GET)
    if isinstance(panel, str):
        raise Http404(panel)
    response = HttpResponse(panel.file(), content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="graph_{uuid}.svg"'
    return response
