"""The inbox, its exports and saved views."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from triage import selectors, services
from triage.exports import csv_download, json_download
from triage.filters import SORTS, BucketFilter, active_chips, sorted_buckets
from triage.forms import (
    BulkForm,
    SavedViewForm,
)
from triage.models import Bucket, SavedView
from triage.people import person
from triage.replies import back, counted, is_settled, spark, tell

__all__ = [
    "change_buckets",
    "delete_view",
    "export_csv",
    "export_json",
    "list_buckets",
    "save_view",
    "undo_batch",
]

_SIZES = (20, 50, 100)


# --------------------------------------------------------------------------------------- inbox
@require_safe
def list_buckets(request: HttpRequest) -> HttpResponse:
    """The inbox. Filters, sort, page and size are the URL's."""
    chosen, rows = _filtered(request, request.GET)
    size = _size(request.GET.get("size", ""))
    page = Paginator(rows, size).get_page(request.GET.get("page"))
    buckets = list(page.object_list)
    sparks = selectors.sparklines(buckets)
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "filter": chosen,
        "chips": list(active_chips(chosen, request.GET)),
        "page": page,
        "rows": [(bucket, spark(sparks[bucket.pk]), is_settled(bucket)) for bucket in buckets],
        "size": size,
        "sizes": _SIZES,
        "sort": request.GET.get("sort", "-impact"),
        "columns": _columns(request.GET),
        "query": query.urlencode(),
        "facets": selectors.facet_values(),
        "counts": selectors.status_counts(),
        "statuses": Bucket.Status.choices,
        "team": list(selectors.team()),
        "views": list(selectors.saved_views(person(request))),
    }
    return render(request, "triage/inbox.html", context)


@require_safe
def export_csv(request: HttpRequest) -> StreamingHttpResponse:
    """Exactly the buckets that the page with the same query shows, all pages of them."""
    _, rows = _filtered(request, request.GET)
    return csv_download(rows)


@require_safe
def export_json(request: HttpRequest) -> StreamingHttpResponse:
    """The same as JSON: one list of objects."""
    _, rows = _filtered(request, request.GET)
    return json_download(rows)


@require_POST
def change_buckets(request: HttpRequest) -> HttpResponse:
    """One action on those picked, or on everything that the filters in `query` match."""
    form = BulkForm(request.POST)
    back = f"{reverse('triage:list-buckets')}?{request.POST.get('query', '')}"
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(str(error) for error in errors))
        return redirect(back)
    data = form.cleaned_data
    picked: Iterable[Bucket] = data["picked"]
    if data["everything"]:
        _, picked = _filtered(request, QueryDict(request.POST.get("query", "")))
    who = person(request)
    match data["action"]:
        case "move":
            done = services.move_buckets(picked, to=data["to"], who=who, why=data["why"])
        case "assign":
            done = services.assign_buckets(picked, assignee=data["assignee"], who=who)
        case _:
            done = services.add_labels(picked, names=[data["name"]], who=who)
    tell(request, done)
    return redirect(back)


@require_POST
def undo_batch(request: HttpRequest, batch: UUID) -> HttpResponse:
    done = services.undo_batch(batch, who=person(request))
    messages.success(request, f"Undone for {counted(done.changed)}.")
    for reason in done.refused:
        messages.warning(request, f"Not undone: {reason}.")
    return redirect(back(request))


@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    form = SavedViewForm(request.POST)
    if form.is_valid():
        view = services.save_view(owner=person(request), **form.cleaned_data)
        messages.success(request, f"Saved as “{view.name}”.")
        return redirect(f"{reverse('triage:list-buckets')}?{view.query}")
    messages.error(request, "A view needs a name of at most 60 characters.")
    return redirect(back(request))


@require_POST
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Only one's own."""
    get_object_or_404(SavedView, pk=pk, owner=person(request)).delete()
    return redirect(back(request))


# -------------------------------------------------------------------------------------- pieces
def _filtered(request: HttpRequest, query: QueryDict) -> tuple[BucketFilter, QuerySet[Bucket]]:
    """The filter and the sorted rows; a filter that is not understood matches nothing."""
    chosen = BucketFilter(query, queryset=selectors.buckets_for_lists(), user=person(request))
    rows = chosen.qs if chosen.is_valid() else Bucket.objects.none()
    return chosen, sorted_buckets(rows, query.get("sort", ""))


def _size(text: str) -> int:
    return int(text) if text.isdigit() and int(text) in _SIZES else _SIZES[0]


_HEADINGS = {
    "impact": "Impact",
    "title": "Bucket",
    "symptom": "Symptom",
    "status": "Status",
    "count": "Findings",
    "size": "Size",
    "last_seen": "Last seen",
}


def _columns(query: QueryDict) -> dict[str, dict[str, str]]:
    """Each sortable heading: its text, the query that sorts by it, and how it is sorted now."""
    now = query.get("sort", "-impact")
    columns = {}
    for name, text in _HEADINGS.items():
        assert name in SORTS
        rest = query.copy()
        rest.pop("page", None)
        down = now != f"-{name}" if name not in {"title", "symptom", "status"} else now == name
        rest["sort"] = f"-{name}" if down else name
        order = {name: "ascending", f"-{name}": "descending"}.get(now, "")
        columns[name] = {"text": text, "query": rest.urlencode(), "order": order}
    return columns
