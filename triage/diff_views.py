"""Pages of data flows: the change that led to a finding, and a seed. Their panels alone, and their
pictures as files."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from engine.errors import BadInput
from engine.seeds import Seed, seed_named
from triage.bucket_views import load_finding
from triage.graph_panel import Panel, finding_panel, program_panel

__all__ = ["download_picture", "download_seed_picture", "show_diff", "show_seed"]


@require_safe
def show_diff(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The change on a page of its own."""
    record = load_finding(uuid)
    context = {"record": record, "panel": finding_panel(record, request.GET)}
    return _page_or_panel(request, "triage/diff.html", context)


@require_safe
def download_picture(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What the page with the same query shows, as SVG."""
    return _file(finding_panel(load_finding(uuid), request.GET), f"graph_{uuid}")


@require_safe
def show_seed(request: HttpRequest, name: str) -> HttpResponse:
    """A shipped seed, folded by its layers."""
    seed = _seed(name)
    context = {"seed": seed, "panel": _seed_panel(request, seed)}
    return _page_or_panel(request, "triage/seed.html", context)


@require_safe
def download_seed_picture(request: HttpRequest, name: str) -> HttpResponse:
    return _file(_seed_panel(request, _seed(name)), name)


def _seed(name: str) -> Seed:
    try:
        return seed_named(name)
    except BadInput as error:
        raise Http404(str(error)) from error


def _seed_panel(request: HttpRequest, seed: Seed) -> Panel | str:
    return program_panel(
        seed.file.read_text(encoding="utf-8"),
        request.GET,
        title=seed.title,
        page=reverse("triage:show-seed", args=[seed.name]),
        download=reverse("triage:download-seed-picture", args=[seed.name]),
    )


def _page_or_panel(request: HttpRequest, page: str, context: Mapping[str, object]) -> HttpResponse:
    """The page, or the panel alone for the script that swaps it."""
    alone = request.headers.get("HX-Request")
    response = render(request, "triage/diff_panel.html" if alone else page, dict(context))
    patch_vary_headers(response, ["HX-Request"])
    return response


def _file(panel: Panel | str, name: str) -> HttpResponse:
    if isinstance(panel, str):
        raise Http404(panel)
    response = HttpResponse(panel.file(), content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return response
