"""Pages of buckets and findings: the inbox, its exports, one bucket, and what people decide."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from engine.errors import BadInput
from engine.finding import Finding
from triage import selectors, services
from triage.exports import csv_download, json_download
from triage.filters import SORTS, BucketFilter, active_chips, sorted_buckets
from triage.forms import (
    AssignForm,
    BulkForm,
    LabelForm,
    MoveForm,
    NoteForm,
    SavedViewForm,
)
from triage.impact import impact_points
from triage.models import Bucket, FindingRecord, Label, SavedView
from triage.people import person
from triage.picture import HOPS, Picture, picture_of_texts, standalone

__all__ = [
    "add_label",
    "add_note",
    "assign_bucket",
    "change_buckets",
    "clear_flag",
    "delete_view",
    "download_data",
    "download_picture",
    "download_script",
    "export_csv",
    "export_json",
    "list_buckets",
    "move_bucket",
    "remove_label",
    "save_view",
    "show_bucket",
    "show_finding",
    "show_scoreboard",
    "undo_batch",
]

_SIZES = (20, 50, 100)


def _bucket(uuid: UUID) -> Bucket:
    """The one loader: everybody who is logged in may see and judge buckets."""
    return get_object_or_404(Bucket.objects.select_related("assignee", "duplicate_of"), uuid=uuid)


def _finding(uuid: UUID) -> FindingRecord:
    return get_object_or_404(
        FindingRecord.objects.select_related("bucket__assignee", "campaign", "shard"), uuid=uuid
    )


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
        "rows": [(bucket, _spark(sparks[bucket.pk]), _settled(bucket)) for bucket in buckets],
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
    _tell(request, done)
    return redirect(back)


@require_POST
def undo_batch(request: HttpRequest, batch: UUID) -> HttpResponse:
    done = services.undo_batch(batch, who=person(request))
    messages.success(request, f"Undone for {_buckets(done.changed)}.")
    for reason in done.refused:
        messages.warning(request, f"Not undone: {reason}.")
    return redirect(_back(request))


@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    form = SavedViewForm(request.POST)
    if form.is_valid():
        view = services.save_view(owner=person(request), **form.cleaned_data)
        messages.success(request, f"Saved as “{view.name}”.")
        return redirect(f"{reverse('triage:list-buckets')}?{view.query}")
    messages.error(request, "A view needs a name of at most 60 characters.")
    return redirect(_back(request))


@require_POST
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Only one's own."""
    get_object_or_404(SavedView, pk=pk, owner=person(request)).delete()
    return redirect(_back(request))


# ---------------------------------------------------------------------------------- one bucket
@require_safe
def show_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return _show(request, _bucket(uuid), None)


@require_safe
def show_finding(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The bucket's page with this member chosen."""
    record = _finding(uuid)
    return _show(request, record.bucket, record)


@require_safe
def download_script(request: HttpRequest, uuid: UUID) -> HttpResponse:
    record = _finding(uuid)
    name = f"reproduce_{record.op or record.symptom}_{str(record.uuid)[:8]}.py"
    response = HttpResponse(record.finding().script, content_type="text/x-python; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
def download_data(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The whole finding as the engine gave it."""
    record = _finding(uuid)
    text = json.dumps(record.data, indent=2, ensure_ascii=False)
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="finding_{record.uuid}.json"'
    return response


@require_safe
def download_picture(request: HttpRequest, uuid: UUID) -> HttpResponse:
    drawn, problem = _picture(_finding(uuid).finding(), hops=None)
    if drawn is None:
        raise Http404(problem)
    response = HttpResponse(standalone(drawn.svg), content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="graph_{uuid}.svg"'
    return response


@require_POST
def move_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = _bucket(uuid), MoveForm(request.POST)
    if form.is_valid():
        done = services.move_buckets([bucket], who=person(request), **form.cleaned_data)
        _tell(request, done)
    else:
        messages.error(request, "Choose a status from the list.")
    return _row_or_back(request, bucket)


@require_POST
def assign_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = _bucket(uuid), AssignForm(request.POST)
    if form.is_valid():
        assignee = form.cleaned_data["assignee"]
        _tell(request, services.assign_buckets([bucket], assignee=assignee, who=person(request)))
    else:
        messages.error(request, "Nobody of that name can be given a bucket.")
    return _row_or_back(request, bucket)


@require_POST
def add_label(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = _bucket(uuid), LabelForm(request.POST)
    if form.is_valid():
        names = form.cleaned_data["name"].split(",")
        _tell(request, services.add_labels([bucket], names=names, who=person(request)))
    return redirect(bucket)


@require_POST
def remove_label(request: HttpRequest, uuid: UUID, pk: int) -> HttpResponse:
    bucket = _bucket(uuid)
    label = get_object_or_404(Label, pk=pk)
    _tell(request, services.remove_label(bucket, label=label, who=person(request)))
    return redirect(bucket)


@require_POST
def clear_flag(request: HttpRequest, uuid: UUID) -> HttpResponse:
    services.clear_flag(_bucket(uuid), who=person(request))
    return redirect(_bucket(uuid))


@require_POST
def add_note(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = _bucket(uuid), NoteForm(request.POST)
    if form.is_valid():
        services.add_note(bucket, text=form.cleaned_data["text"], who=person(request))
        return redirect(f"{bucket.get_absolute_url()}#notes")
    messages.error(request, "A note needs some text.")
    return redirect(bucket)


@require_safe
def show_scoreboard(request: HttpRequest) -> HttpResponse:
    rows = selectors.scoreboard()
    context = {"rows": rows, "total": selectors.total(rows)}
    return render(request, "triage/scoreboard.html", context)


# -------------------------------------------------------------------------------------- pieces
def _filtered(request: HttpRequest, query: QueryDict) -> tuple[BucketFilter, QuerySet[Bucket]]:
    """The filter and the sorted rows; a filter that is not understood matches nothing."""
    chosen = BucketFilter(query, queryset=selectors.buckets_for_lists(), user=person(request))
    rows = chosen.qs if chosen.is_valid() else Bucket.objects.none()
    return chosen, sorted_buckets(rows, query.get("sort", ""))


def _show(request: HttpRequest, bucket: Bucket, record: FindingRecord | None) -> HttpResponse:
    page = selectors.bucket_page(bucket, record)
    context: dict[str, Any] = {
        "page": page,
        "bucket": bucket,
        "moves": services.allowed_moves(bucket.status),
        "team": list(selectors.team()),
        "note_form": NoteForm(),
    }
    if page.record is not None:
        whole = request.GET.get("graph") == "all"
        finding = page.record.finding()
        drawn, problem = _picture(finding, hops=None if whole else HOPS)
        context |= {
            "record": page.record,
            "finding": finding,
            "points": impact_points(finding),
            "picture": drawn,
            "picture_problem": problem,
            "small_picture": _small_picture(finding),
            "whole": whole,
        }
    return render(request, "triage/bucket.html", context)


def _picture(finding: Finding, *, hops: int | None) -> tuple[Picture | None, str]:
    """The picture, or why there is none: texts of another version of the engine cannot be read."""
    if not finding.parent_text or not finding.mutant_text:
        return None, "The finding carries no graphs: it was there before any mutation."
    try:
        drawn = picture_of_texts(
            finding.parent_text, finding.mutant_text, changed=finding.changed, hops=hops
        )
    except BadInput as error:
        return None, f"The graph's text cannot be read: {error}"
    return drawn, ""


def _small_picture(finding: Finding) -> Picture | None:
    """The minimised program, whose values `divergence` names; None where its text is not read."""
    text = finding.minimised_text
    try:
        return picture_of_texts(text, text, diverges=finding.divergence)
    except BadInput:
        return None


def _row_or_back(request: HttpRequest, bucket: Bucket) -> HttpResponse:
    """The row alone for a script that asked for it, else the page that the form was on."""
    if request.headers.get("HX-Request") and request.POST.get("row"):
        fresh = selectors.buckets_for_lists().get(pk=bucket.pk)
        spark = _spark(selectors.sparklines([fresh])[fresh.pk])
        context = {
            "bucket": fresh,
            "spark": spark,
            "settled": _settled(fresh),
            "statuses": Bucket.Status.choices,
            "team": list(selectors.team()),
            "alone": True,
        }
        return render(request, "triage/bucket_row.html", context)
    return redirect(_back(request, bucket.get_absolute_url()))


def _back(request: HttpRequest, default: str = "") -> str:
    """Where the form said it was, if that is one of our own pages."""
    wanted = request.POST.get("next") or request.headers.get("Referer", "")
    if url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return wanted
    return default or reverse("triage:list-buckets")


def _tell(request: HttpRequest, done: services.Done) -> None:
    if done.changed:
        text = f"{_buckets(done.changed).capitalize()} changed."
        messages.success(request, text, extra_tags=f"undo:{done.batch}")
    for reason in done.refused:
        messages.warning(request, f"Left as it was: {reason}.")
    if not done.changed and not done.refused:
        messages.info(request, "Nothing to change.")


def _buckets(count: int) -> str:
    return "1 bucket" if count == 1 else f"{count} buckets"


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


def _settled(bucket: Bucket) -> bool:
    status = Bucket.Status
    return bucket.status in {
        status.FIXED,
        status.FALSE_ALARM,
        status.DUPLICATE,
        status.KNOWN_LIMIT,
    }


def _spark(counts: tuple[int, ...]) -> list[dict[str, float]]:
    """Bars of the sparkline: x, y and height in a box of 74 by 20."""
    top = max(counts) or 1
    width = 74 / len(counts)
    return [
        {"x": round(index * width, 2), "y": round(20 - tall, 2), "height": tall}
        for index, count in enumerate(counts)
        for tall in [max(1.0, round(20 * count / top, 1)) if count else 0.6]
    ]
