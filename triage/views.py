"""The inbox, its exports and saved views."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
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

from triage import inbox_selectors, saved_views, selectors, services
from triage.exports import csv_download, json_download
from triage.filters import DEFAULT_SORT, SORTS, BucketFilter, Chip, active_chips, sorted_buckets
from triage.forms import BulkForm, SavedViewForm, ViewForm
from triage.models import Bucket, SavedView
from triage.people import person
from triage.replies import back, counted, tell

__all__ = [
    "change_buckets",
    "choose_view",
    "delete_view",
    "edit_view",
    "export_csv",
    "export_json",
    "list_buckets",
    "list_views",
    "save_view",
    "undo_batch",
]

_SIZES = (20, 50, 100)
_COOKIE, _COOKIE_LENGTH = "inbox", 2000


# --------------------------------------------------------------------------------------- inbox
@require_safe
def list_buckets(request: HttpRequest) -> HttpResponse:
    """The inbox. Filters, sort, page and size are the URL's; a bare one opens the default view."""
    who = person(request)
    if not request.GET and (opening := saved_views.opening_query(who)):
        return redirect(f"{reverse('triage:list-buckets')}?{opening}")
    chosen, rows = _filtered(request, request.GET)
    size = _size(request.GET.get("size", ""))
    page = Paginator(rows, size).get_page(request.GET.get("page"))
    team = list(selectors.team())
    names = [one.get_username() for one in team]
    menus = {menu.name: menu for menu in inbox_selectors.filter_menus(chosen, request.GET, names)}
    chips = list(active_chips(chosen, request.GET, texts=menus["campaign"].texts))
    context = {
        "filter": chosen,
        "menus": menus,
        "chips": chips,
        "page": page,
        "rows": inbox_selectors.inbox_rows(list(page.object_list)),
        "total": menus["status"].count_of("all"),
        "size": size,
        "sizes": [(one, _with_size(request.GET, one)) for one in _SIZES],
        "columns": _columns(request.GET),
        "query": _first_page(request.GET).urlencode(),
        "statuses": BulkForm.statuses(),
        "false_alarms": Bucket.FalseAlarm.choices,
        "team": team,
        "views": inbox_selectors.inbox_views(who, request.GET),
    }
    if not page.paginator.count:
        context |= _way_on(chips, request)
    response = render(request, "triage/inbox.html", context)
    _remember(response, request)
    return response


@require_safe
def export_csv(request: HttpRequest) -> StreamingHttpResponse:
    """Exactly the buckets that the page with the same query shows, all pages of them."""
    _, rows = _filtered(request, request.GET)
    return csv_download(rows, site=request.build_absolute_uri("/").rstrip("/"))


@require_safe
def export_json(request: HttpRequest) -> StreamingHttpResponse:
    """The same as JSON: one list of objects."""
    _, rows = _filtered(request, request.GET)
    return json_download(rows, site=request.build_absolute_uri("/").rstrip("/"))


@require_POST
def change_buckets(request: HttpRequest) -> HttpResponse:
    """One action on those picked, or on everything that the filters in `query` match."""
    form = BulkForm(request.POST)
    query = QueryDict(request.POST.get("query", ""))
    there = f"{reverse('triage:list-buckets')}?{query.urlencode() or 'status=open'}"
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(str(error) for error in errors))
        return redirect(there)
    data = form.cleaned_data
    picked: QuerySet[Bucket] = data["picked"]
    if data["everything"]:
        _, picked = _filtered(request, query)
        now, then = picked.count(), data["matching"]
        if then not in (None, now):
            messages.error(
                request,
                f"Nothing was changed: {counted(then)} matched when you looked, {now} do now.",
            )
            return redirect(there)
    tell(request, _change(picked, data, request))
    return redirect(there)


def _change(buckets: Iterable[Bucket], data: dict[str, Any], request: HttpRequest) -> services.Done:
    who, names = person(request), data["name"].split(",")
    match data["action"]:
        case "move":
            return services.move_buckets(
                buckets,
                to=data["to"],
                why=data["why"],
                false_alarm=data["false_alarm"],
                who=who,
            )
        case "assign":
            return services.assign_buckets(buckets, assignee=data["assignee"], who=who)
        case "label":
            return services.add_labels(buckets, names=names, who=who)
        case _:
            return services.remove_labels(buckets, names=names, who=who)


@require_POST
def undo_batch(request: HttpRequest, batch: UUID) -> HttpResponse:
    done = services.undo_batch(batch, who=person(request))
    messages.success(request, f"Undone for {counted(done.changed)}.")
    for reason in done.refused:
        messages.warning(request, f"Not undone: {reason}.")
    return redirect(back(request))


# ---------------------------------------------------------------------------------- saved views
def _own_view(request: HttpRequest, pk: int) -> SavedView:
    """The one loader of views to change: only one's own."""
    return get_object_or_404(SavedView, pk=pk, owner=person(request))


@require_safe
def list_views(request: HttpRequest) -> HttpResponse:
    """One's own views and the shared ones, to rename, share, drop, or open the inbox with."""
    who = person(request)
    views = [
        (view, list(active_chips(BucketFilter(query, user=who), query)))
        for view in inbox_selectors.inbox_views(who)
        if view.saved
        for query in [QueryDict(view.query)]
    ]
    return render(request, "triage/views.html", {"views": views})


@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    form = SavedViewForm(request.POST)
    if form.is_valid():
        view = saved_views.save_view(owner=person(request), **form.cleaned_data)
        messages.success(request, f"Saved as “{view.name}”.")
        return redirect(f"{reverse('triage:list-buckets')}?{view.query or 'status=open'}")
    messages.error(request, "A view needs a name of at most 60 characters.")
    return redirect(back(request))


@require_POST
def edit_view(request: HttpRequest, pk: int) -> HttpResponse:
    view, form = _own_view(request, pk), ViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, "A view needs a name of at most 60 characters.")
        return redirect("triage:list-views")
    try:
        saved_views.edit_view(view, **form.cleaned_data)
    except saved_views.NameTakenError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"“{view.name}” is changed.")
    return redirect("triage:list-views")


@require_POST
def choose_view(request: HttpRequest) -> HttpResponse:
    """What the inbox opens with: a view that one may see, or none."""
    who, pk = person(request), request.POST.get("view", "")
    view = get_object_or_404(inbox_selectors.saved_views(who), pk=pk) if pk.isdigit() else None
    saved_views.choose_default(owner=who, view=view)
    name = f"“{view.name}”" if view else "what needs a person"
    messages.success(request, f"The inbox opens with {name}.")
    return redirect("triage:list-views")


@require_POST
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    saved_views.delete_view(_own_view(request, pk))
    return redirect(back(request))


# -------------------------------------------------------------------------------------- pieces
def _filtered(request: HttpRequest, query: QueryDict) -> tuple[BucketFilter, QuerySet[Bucket]]:
    """The filter and the sorted rows; a filter that is not understood matches nothing."""
    chosen = BucketFilter(query, queryset=selectors.buckets_for_lists(), user=person(request))
    rows = chosen.qs if chosen.is_valid() else Bucket.objects.none()
    return chosen, sorted_buckets(rows, query.get("sort", ""))


def _way_on(chips: list[Chip], request: HttpRequest) -> dict[str, Any]:
    """For an inbox that shows nothing: filters to drop, and what runs."""
    return {
        "ways_out": inbox_selectors.ways_out(chips, person(request)),
        "running": list(inbox_selectors.running_campaigns()),
    }


def _remember(response: HttpResponse, request: HttpRequest) -> None:
    """The list that one came from, for the way back from a bucket's page."""
    query = request.GET.urlencode()
    if len(query) <= _COOKIE_LENGTH:
        response.set_cookie(
            _COOKIE,
            query,
            path="/triage/",
            httponly=True,
            samesite="Lax",
            secure=request.is_secure(),
        )


def _size(text: str) -> int:
    return int(text) if text.isdigit() and int(text) in _SIZES else _SIZES[0]


def _with_size(query: QueryDict, size: int) -> str:
    rest = _first_page(query)
    rest["size"] = str(size)
    return rest.urlencode()


# Columns by name: heading, and whether a first click puts the greatest first.
_HEADINGS = {
    "impact": ("Impact", True),
    "title": ("Bucket", False),
    "symptom": ("Symptom", False),
    "status": ("Status", False),
    "assignee": ("Assignee", False),
    "count": ("Findings", True),
    "size": ("Size", False),
    "reproduced": ("Reproduced", True),
    "first_seen": ("First seen", True),
    "last_seen": ("Last seen", True),
}
_NUMBERS = frozenset({"impact", "count", "size", "reproduced"})


def _columns(query: QueryDict) -> dict[str, dict[str, Any]]:
    """Each sortable heading: its text, the query that sorts by it, and how it is sorted now."""
    now = query.get("sort", "")
    if now.removeprefix("-") not in SORTS:
        now = DEFAULT_SORT
    columns = {}
    for name, (text, is_down) in _HEADINGS.items():
        order = {name: "ascending", f"-{name}": "descending"}.get(now, "")
        is_next_down = order == "ascending" or (not order and is_down)
        rest = _first_page(query)
        rest["sort"] = f"-{name}" if is_next_down else name
        columns[name] = {
            "text": text,
            "query": rest.urlencode(),
            "order": order,
            "is_number": name in _NUMBERS,
        }
    return columns


def _first_page(query: QueryDict) -> QueryDict:
    """The query without its page; never empty, which would open the default view."""
    rest = query.copy()
    rest.pop("page", None)
    if not rest:
        rest["status"] = "open"
    return rest
