"""Running the script of a finding again: asked for, looked at while it runs, cancelled."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from triage import reruns
from triage.bucket_selectors import rerun_panel
from triage.forms import RerunForm
from triage.models import FindingRecord, Rerun
from triage.people import person
from triage.replies import back

__all__ = ["add_rerun", "cancel_rerun", "download_rerun", "show_reruns"]


def _finding(uuid: UUID) -> FindingRecord:
    """The one loader: everybody who is logged in may run a script again."""
    return get_object_or_404(FindingRecord.objects.select_related("bucket"), uuid=uuid)


def _rerun(uuid: UUID) -> Rerun:
    return get_object_or_404(Rerun.objects.select_related("finding"), uuid=uuid)


@require_safe
def show_reruns(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The panel alone, for polling."""
    return _panel(request, _finding(uuid))


@require_POST
def add_rerun(request: HttpRequest, uuid: UUID) -> HttpResponse:
    record = _finding(uuid)
    form = RerunForm(record.framework, request.POST)
    if form.is_valid():
        reruns.ask_rerun(record, who=person(request), **form.cleaned_data)
    else:
        messages.error(request, "Choose an environment of the finding's framework and a count.")
    return _panel_or_back(request, record)


@require_POST
def cancel_rerun(request: HttpRequest, uuid: UUID) -> HttpResponse:
    rerun = _rerun(uuid)
    reruns.cancel_rerun(rerun)
    return _panel_or_back(request, rerun.finding)


@require_safe
def download_rerun(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What every attempt printed, as plain text."""
    rerun = _rerun(uuid)
    parts = [
        f"# attempt {number} of {rerun.attempts}: {one['ending']}"
        f"{one['reason'] and ', ' + one['reason']}, exit status {one['returncode']}\n"
        f"{one['output']}"
        for number, one in enumerate(rerun.results, start=1)
    ]
    return HttpResponse("\n".join(parts), content_type="text/plain; charset=utf-8")


def _panel_or_back(request: HttpRequest, record: FindingRecord) -> HttpResponse:
    if request.headers.get("HX-Request"):
        return _panel(request, record)
    return redirect(f"{back(request, record.get_absolute_url()).partition('#')[0]}#rerun")


def _panel(request: HttpRequest, record: FindingRecord) -> HttpResponse:
    context = {
        "record": record,
        "rerun": rerun_panel(record),
        "rerun_form": RerunForm(record.framework),
    }
    return render(request, "triage/panels/rerun.html", context)
