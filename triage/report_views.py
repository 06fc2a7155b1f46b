"""Pages of one report: its words with a preview, and its way to the tracker."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from triage import reporting
from triage.drafting.rendering import TemplateFaultError
from triage.forms import LinkForm, ReportForm, ReportMoveForm
from triage.models import FindingRecord, Report
from triage.people import person
from triage.report_selectors import filing_context, find_report, lint_panel
from triage.services import MoveRefusedError
from triage.trackers import FORMS, FormField
from triage.upstream_panel import upstream_panel

__all__ = [
    "add_report",
    "edit_report",
    "link_report",
    "move_report",
    "preview_report",
    "show_report",
]


@require_POST
def add_report(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Draft one from a finding."""
    record = get_object_or_404(FindingRecord.objects.select_related("bucket"), uuid=uuid)
    try:
        report = reporting.draft_report(record, who=person(request))
    except TemplateFaultError as fault:
        messages.error(request, f"The templates cannot be filled in from this finding: {fault}")
        return redirect(record)
    messages.success(request, "Drafted. Read it as its maintainer would before you file it.")
    return redirect(report)


@require_safe
def show_report(request: HttpRequest, uuid: UUID) -> HttpResponse:
    return _page(request, find_report(uuid))


@require_POST
def edit_report(request: HttpRequest, uuid: UUID) -> HttpResponse:
    report = find_report(uuid)
    form = ReportForm(report, request.POST)
    if not form.is_valid():
        return _page(request, report, form=form, status=422)
    reporting.edit_report(
        report, title=form.cleaned_data["title"], fields=form.texts(), who=person(request)
    )
    messages.success(request, "Saved.")
    return redirect(report)


@require_POST
def preview_report(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What the fields would look like on the tracker; nothing is saved."""
    report = find_report(uuid)
    form = ReportForm(report, request.POST)
    form.is_valid()
    texts = {field.key: request.POST.get(field.key, "") for field in FORMS[report.form].fields}
    context = {"parts": _parts(report, texts), "title": request.POST.get("title", "")}
    return render(request, "triage/preview_panel.html", context)


@require_POST
def link_report(request: HttpRequest, uuid: UUID) -> HttpResponse:
    report = find_report(uuid)
    form = LinkForm(report, request.POST)
    if not form.is_valid():
        return _page(request, report, link_form=form, status=422)
    panel = lint_panel(report)
    said = f"Linter: {panel.lint.sentence}."[:500] if panel.lint and not report.upstream_url else ""
    reporting.link_report(report, url=form.cleaned_data["url"], who=person(request), why=said)
    messages.success(request, "Linked.")
    return redirect(report)


@require_POST
def move_report(request: HttpRequest, uuid: UUID) -> HttpResponse:
    report = find_report(uuid)
    form = ReportMoveForm(request.POST)
    if form.is_valid():
        try:
            reporting.move_report(report, who=person(request), **form.cleaned_data)
        except MoveRefusedError as refused:
            messages.error(request, str(refused))
    return redirect(report)


def _page(
    request: HttpRequest,
    report: Report,
    *,
    form: ReportForm | None = None,
    link_form: LinkForm | None = None,
    status: int = 200,
) -> HttpResponse:
    tracker_form = FORMS[report.form]
    context = {
        "report": report,
        "tracker_form": tracker_form,
        "form_url": tracker_form.url(report.title),
        "form": form or ReportForm(report),
        "link_form": link_form or LinkForm(report, initial={"url": report.upstream_url}),
        "moves": reporting.allowed_moves(report.status),
        "parts": list(_parts(report, report.fields)),
        "title": report.title,
        "upstream": upstream_panel(report),
        **filing_context(report, who=person(request)),
        "events": report.events.select_related("who").order_by("-created_at", "-id"),
    }
    return render(request, "triage/report.html", context, status=status)


def _parts(report: Report, texts: dict[str, str]) -> Iterator[tuple[FormField, str]]:
    for field in FORMS[report.form].fields:
        yield field, texts.get(field.key, "")
