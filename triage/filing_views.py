"""Views on the way to the tracker: the linter, the search for duplicates, posting."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from triage import duplicates, filing, reruns
from triage.forms import LinkForm
from triage.linting import service
from triage.models import Filing, Report
from triage.people import person
from triage.report_forms import FileForm, OverrideForm, SearchForm
from triage.report_selectors import find_report, lint_panel

__all__ = [
    "abandon_filing",
    "confirm_filing",
    "file_report",
    "join_issue",
    "look_for_filing",
    "override_rule",
    "run_script",
    "search_tracker",
    "show_lint",
    "withdraw_override",
]


@require_safe
def show_lint(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The panel alone, for polling while the script runs."""
    return _lint(request, find_report(uuid))


@require_POST
def override_rule(request: HttpRequest, uuid: UUID) -> HttpResponse:
    report = find_report(uuid)
    form = OverrideForm(request.POST)
    if form.is_valid():
        try:
            service.override_rule(report, who=person(request), **form.cleaned_data)
        except service.OverrideRefusedError as refused:
            messages.error(request, str(refused))
    else:
        messages.error(request, "Say in ten letters or more why the rule does not matter here.")
    return redirect(f"{report.get_absolute_url()}#lint")


@require_POST
def withdraw_override(request: HttpRequest, uuid: UUID) -> HttpResponse:
    report = find_report(uuid)
    service.withdraw_override(report, rule=request.POST.get("rule", ""), who=person(request))
    return redirect(f"{report.get_absolute_url()}#lint")


@require_POST
def run_script(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Run the finding's script again; the linter waits for what it says."""
    report = find_report(uuid)
    reruns.ask_rerun(report.finding, who=person(request))
    return redirect(f"{report.get_absolute_url()}#lint")


@require_POST
def search_tracker(request: HttpRequest, uuid: UUID) -> HttpResponse:
    report = find_report(uuid)
    form = SearchForm(request.POST)
    if form.is_valid():
        found = duplicates.search_tracker(
            report, query=form.cleaned_data["query"], who=person(request)
        )
        if found.problem:
            messages.error(request, f"The tracker could not be searched: {found.problem}")
    else:
        messages.error(request, "Say in at most 200 letters what to search for.")
    return redirect(f"{report.get_absolute_url()}#duplicates")


@require_POST
def join_issue(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Use an issue that is there already."""
    report = find_report(uuid)
    form = LinkForm(report, request.POST)
    if form.is_valid() and not report.upstream_url:
        duplicates.join_issue(report, url=form.cleaned_data["url"], who=person(request))
        messages.success(request, "Linked to the issue that is there already. Nothing was filed.")
    else:
        problems = [str(error) for errors in form.errors.values() for error in errors]
        messages.error(request, " ".join(problems) or "It is linked already.")
    return redirect(report)


@require_safe
def confirm_filing(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What would be posted, word for word."""
    return _confirm(request, find_report(uuid), FileForm())


@require_POST
def file_report(request: HttpRequest, uuid: UUID) -> HttpResponse:
    report = find_report(uuid)
    form = FileForm(request.POST)
    if not form.is_valid():
        return _confirm(request, report, form, status=422)
    try:
        _tell(request, filing.file_report(report, who=person(request)))
    except filing.FilingRefusedError as refused:
        messages.error(request, str(refused))
    return redirect(report)


@require_POST
def look_for_filing(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Ask the tracker whether what was sent has arrived."""
    report = find_report(uuid)
    found = filing.open_filing(report)
    if found is not None and person(request).is_staff:
        _tell(request, filing.look_for(found, who=person(request)))
    return redirect(report)


@require_POST
def abandon_filing(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """A person says that it did not arrive."""
    report = find_report(uuid)
    found = filing.open_filing(report)
    if found is not None and person(request).is_staff:
        try:
            filing.abandon_filing(found, who=person(request))
        except filing.FilingRefusedError as refused:
            messages.error(request, str(refused))
    return redirect(report)


def _tell(request: HttpRequest, made: Filing) -> None:
    if made.state == Filing.State.POSTED:
        messages.success(request, f"Filed: {made.url}")
    else:
        messages.error(request, f"{made.get_state_display()}: {made.problem}")


def _lint(request: HttpRequest, report: Report) -> HttpResponse:
    context = {"report": report, "lint": lint_panel(report)}
    return render(request, "triage/panels/lint.html", context)


def _confirm(
    request: HttpRequest, report: Report, form: FileForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "report": report,
        "form": form,
        "body": filing.body_of(report),
        "lint": lint_panel(report),
        "why_not": filing.why_not(report, who=person(request)),
    }
    return render(request, "triage/file_report.html", context, status=status)
