"""The life of reports: the table, the board, what their trackers say, and what is proposed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from triage import proposals, reporting
from triage.board import lanes
from triage.following import ask_now
from triage.forms import ReportMoveForm
from triage.mapping import RULES
from triage.models import Following, Report
from triage.people import person
from triage.reminders import reminders
from triage.report_exports import report_table, score_table
from triage.report_filters import DEFAULT_SORT, ReportFilter, active_chips, sorted_reports
from triage.scoreboard import scoreboard
from triage.selectors import report_list
from triage.services import MoveRefusedError
from triage.tables import FORMATS, table_download
from triage.upstream.models import UpstreamAnswer
from triage.upstream.sites import SITES
from triage.upstream_panel import open_pauses, upstream_panel

__all__ = [
    "adopt_address",
    "ask_upstream",
    "download_answers",
    "export_reports",
    "export_scoreboard",
    "keep_status",
    "list_reports",
    "move_card",
    "show_board",
    "show_mapping",
    "show_upstream",
    "take_over",
]

_PAGE = 50
_REMINDED = 8
_HEADINGS = {
    "title": "Report",
    "status": "Status",
    "tracker": "Tracker",
    "activity": "Last word upstream",
    "changed": "Changed",
}


def _report(uuid: UUID) -> Report:
    """The one loader: everybody who is logged in may read and write reports."""
    return get_object_or_404(report_list(), uuid=uuid)


# --------------------------------------------------------------------------------------- the lists
@require_safe
def list_reports(request: HttpRequest) -> HttpResponse:
    """The table: filtered and sorted by the query, in pages."""
    chosen = ReportFilter(request.GET, queryset=report_list())
    rows = sorted_reports(chosen.qs, request.GET.get("sort", DEFAULT_SORT))
    page = Paginator(rows, _PAGE).get_page(request.GET.get("page"))
    context = {
        **_both(request, chosen),
        "page": page,
        "columns": _columns(request.GET),
        "formats": FORMATS.values(),
    }
    return render(request, "triage/reports.html", context)


@require_safe
def show_board(request: HttpRequest) -> HttpResponse:
    """The same reports as cards, by status."""
    chosen = ReportFilter(request.GET, queryset=report_list())
    context = {**_both(request, chosen), "lanes": lanes(sorted_reports(chosen.qs, DEFAULT_SORT))}
    return render(request, "triage/report_board.html", context)


def _both(request: HttpRequest, chosen: ReportFilter) -> dict[str, Any]:
    """What the table and the board share."""
    due = reminders()
    query = request.GET.copy()
    query.pop("page", None)
    return {
        "filter": chosen,
        "chips": list(active_chips(chosen, request.GET)),
        "query": query.urlencode(),
        "total": Report.objects.count(),
        "reminders": due[:_REMINDED],
        "more_reminders": due[_REMINDED:],
        "pauses": open_pauses(),
    }


def _columns(query: QueryDict) -> list[dict[str, str]]:
    """Headings that sort, each with its link and its order."""
    now = query.get("sort", DEFAULT_SORT)
    found = []
    for name, text in _HEADINGS.items():
        rest = query.copy()
        rest.pop("page", None)
        rest["sort"] = name if now == f"-{name}" else f"-{name}"
        order = {name: "ascending", f"-{name}": "descending"}.get(now, "")
        found.append({"name": name, "text": text, "query": rest.urlencode(), "order": order})
    return found


@require_safe
def show_mapping(request: HttpRequest) -> HttpResponse:
    """The table from what trackers say to our statuses, and the moves that a person may make."""
    moves = [(status, reporting.allowed_moves(status)) for status in Report.Status]
    return render(request, "triage/mapping.html", {"groups": _groups(), "moves": moves})


def _groups() -> list[tuple[str, list[Any]]]:
    found: dict[str, list[Any]] = {}
    for rule in RULES:
        found.setdefault(" and ".join(SITES[site].title for site in rule.sites), []).append(rule)
    return list(found.items())


@require_safe
def export_reports(request: HttpRequest, ending: str) -> HttpResponse:
    """Exactly the reports that the table with the same query shows, all pages of them."""
    if ending not in FORMATS:
        raise Http404
    chosen = ReportFilter(request.GET, queryset=report_list())
    rows = sorted_reports(chosen.qs, request.GET.get("sort", DEFAULT_SORT))
    return table_download(report_table(rows), ending)


class PeriodForm(forms.Form):
    """When buckets were first seen; either end may be open."""

    since = forms.DateTimeField(required=False)
    until = forms.DateTimeField(required=False)


@require_safe
def export_scoreboard(request: HttpRequest, ending: str) -> HttpResponse:
    """The scoreboard of a time, as on the overview."""
    form = PeriodForm(request.GET)
    if ending not in FORMATS or not form.is_valid():
        raise Http404
    since, until = form.cleaned_data["since"], form.cleaned_data["until"]
    words = [
        *([f"from {since:%Y-%m-%d %H:%M}"] if since else []),
        *([f"to {until:%Y-%m-%d %H:%M}"] if until else []),
    ]
    period = f"first seen {' '.join(words)}" if words else "of all times"
    rows = scoreboard(since=since, until=until)
    return table_download(score_table(rows, period=period), ending)


# -------------------------------------------------------------------------------------- the status
@require_POST
def move_card(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Give a card its next column, and come back to the board, to the card."""
    report = _report(uuid)
    form = ReportMoveForm(request.POST)
    if form.is_valid():
        try:
            reporting.move_report(report, who=person(request), **form.cleaned_data)
        except MoveRefusedError as refused:
            messages.error(request, str(refused))
        else:
            label = Report.Status(form.cleaned_data["to"]).label.lower()
            messages.success(request, f"“{report.title}” is {label} now.")
    else:
        messages.error(request, "Choose a status.")
    query = request.POST.get("query", "")
    there = f"{reverse('triage:show-report-board')}?{QueryDict(query).urlencode()}"
    return redirect(f"{there}#report-{report.uuid}")


@require_POST
def take_over(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The proposed status becomes ours."""
    report = _report(uuid)
    try:
        proposals.take_over(report, to=request.POST.get("to", ""), who=person(request))
    except MoveRefusedError as refused:
        messages.error(request, str(refused))
    return _back(request, report)


@require_POST
def keep_status(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Ours stays, whatever was proposed."""
    report = _report(uuid)
    proposals.keep_status(report, who=person(request), why=request.POST.get("why", ""))
    return _back(request, report)


def _back(request: HttpRequest, report: Report) -> HttpResponse:
    """To the page of ours that the button stood on."""
    there = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(there, allowed_hosts={request.get_host()}):
        return redirect(there)
    return redirect(report)


# ------------------------------------------------------------------------------------ the tracker
@require_safe
def show_upstream(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What the tracker says, alone, for polling."""
    report = _report(uuid)
    context = {"report": report, "upstream": upstream_panel(report)}
    return render(request, "triage/panels/upstream.html", context)


@require_POST
def ask_upstream(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Ask the tracker soon."""
    report = _report(uuid)
    following = get_object_or_404(Following, report=report)
    ask_now(following)
    pause = next((one for one in open_pauses() if one.site == following.site), None)
    if pause is not None:
        messages.warning(request, f"{pause.title} limits requests: {pause.why}")
    else:
        messages.success(request, "The tracker is asked within seconds.")
    return redirect(f"{report.get_absolute_url()}#upstream")


@require_POST
def adopt_address(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Link the report to where its tracker moved the issue; the old address is kept."""
    report = _report(uuid)
    following = get_object_or_404(Following, report=report)
    taken = Report.objects.filter(upstream_url=following.address).exclude(pk=report.pk).first()
    if taken is not None:
        messages.error(request, f"Already linked to the report “{taken.title}”.")
    else:
        reporting.link_report(report, url=following.address, who=person(request))
        messages.success(request, "Linked to the new address; the old one is kept.")
    return redirect(f"{report.get_absolute_url()}#upstream")


@require_safe
def download_answers(request: HttpRequest, uuid: UUID) -> JsonResponse:
    """Every raw answer of the tracker with its time, the newest first."""
    report = _report(uuid)
    shown = report.answers.values(*UpstreamAnswer.SHOWN)
    response = JsonResponse({"answers": list(shown)})
    name = f"answers-{report.upstream_id or report.uuid}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
