"""One bucket's page: what is wrong and why it is believed, and what people decide about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from triage import services
from triage.bucket_selectors import bucket_page, rerun_panel
from triage.counting import points_of
from triage.evidence import ablation_axes, ablation_sentence, quantities
from triage.forms import AssignForm, LabelForm, MoveForm, NoteForm, RerunForm
from triage.graph_panel import finding_panel, program_picture
from triage.models import Bucket, FindingRecord, Label, Note
from triage.people import person
from triage.replies import back, elsewhere, row_or_back, tell
from triage.routing import resolved
from triage.selectors import team
from triage.summary import next_step, script_name, summary
from triage.version_panel import version_panel
from triage.walk import walk

__all__ = [
    "add_label",
    "add_note",
    "assign_bucket",
    "clear_flag",
    "delete_note",
    "download_answer",
    "download_data",
    "download_output",
    "download_script",
    "edit_note",
    "load_bucket",
    "load_finding",
    "move_bucket",
    "remove_label",
    "show_bucket",
    "show_finding",
]


def load_bucket(uuid: UUID) -> Bucket:
    """The one loader: everybody who is logged in may see and judge buckets.

    The address of a bucket that was merged loads what it was merged into.
    """
    rows = Bucket.with_merged.select_related("assignee", "duplicate_of", "suppression")
    return resolved(get_object_or_404(rows, uuid=uuid))


def load_finding(uuid: UUID) -> FindingRecord:
    return get_object_or_404(
        FindingRecord.objects.select_related("bucket__assignee", "campaign", "shard", "submission"),
        uuid=uuid,
    )


@require_safe
def show_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket = load_bucket(uuid)
    if bucket.uuid != uuid:
        messages.info(request, "The bucket at that address was merged into this one.")
        return redirect(bucket)
    return _show(request, bucket, None)


@require_safe
def show_finding(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The bucket's page with this member chosen."""
    record = load_finding(uuid)
    return _show(request, record.bucket, record)


@require_safe
def download_script(request: HttpRequest, uuid: UUID) -> HttpResponse:
    record = load_finding(uuid)
    name = script_name(record)
    response = HttpResponse(record.finding().script, content_type="text/x-python; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
def download_data(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The whole finding as the engine gave it."""
    record = load_finding(uuid)
    text = json.dumps(record.data, indent=2, ensure_ascii=False)
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="finding_{record.uuid}.json"'
    return response


@require_safe
def download_output(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """What the script printed when it was recorded, as plain text."""
    text = load_finding(uuid).finding().script_output
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_safe
def download_answer(request: HttpRequest, uuid: UUID, mode: str) -> HttpResponse:
    """The whole answer of a mode, as plain text."""
    answers = load_finding(uuid).finding().answers
    found = next((answer for answer in answers if answer.mode == mode), None)
    if found is None:
        raise Http404(f"no answer of {mode}")
    text = f"{found.summary}\n\n{found.detail}"
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_POST
def move_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = load_bucket(uuid), MoveForm(request.POST)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(str(error) for error in errors))
        return row_or_back(request, bucket)
    status = form.cleaned_data["to"]
    if form.wants_limit_page and bucket.status != status:
        limit = reverse("triage:preview-limit", args=[bucket.uuid])
        return elsewhere(request, limit, why=form.cleaned_data["why"])
    if form.wants_bucket_page and bucket.status != status:
        return elsewhere(request, bucket.get_absolute_url(), to=status)
    tell(request, services.move_buckets([bucket], who=person(request), **form.decision()))
    return row_or_back(request, bucket)


@require_POST
def assign_bucket(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = load_bucket(uuid), AssignForm(request.POST)
    if form.is_valid():
        assignee = form.cleaned_data["assignee"]
        tell(request, services.assign_buckets([bucket], assignee=assignee, who=person(request)))
    else:
        messages.error(request, "Nobody of that name can be given a bucket.")
    return row_or_back(request, bucket)


@require_POST
def add_label(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = load_bucket(uuid), LabelForm(request.POST)
    if form.is_valid():
        names = form.cleaned_data["name"].split(",")
        tell(request, services.add_labels([bucket], names=names, who=person(request)))
    else:
        messages.error(request, "A label has 1 to 40 characters.")
    return row_or_back(request, bucket)


@require_POST
def remove_label(request: HttpRequest, uuid: UUID, pk: int) -> HttpResponse:
    bucket = load_bucket(uuid)
    label = get_object_or_404(Label, pk=pk)
    done = services.remove_labels([bucket], names=[label.name], who=person(request))
    tell(request, done)
    return row_or_back(request, bucket)


@require_POST
def clear_flag(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket = services.clear_flag(load_bucket(uuid), who=person(request))
    return redirect(back(request, bucket.get_absolute_url()))


@require_POST
def add_note(request: HttpRequest, uuid: UUID) -> HttpResponse:
    bucket, form = load_bucket(uuid), NoteForm(request.POST)
    if form.is_valid():
        services.add_note(bucket, text=form.cleaned_data["text"], who=person(request))
    else:
        messages.error(request, "A note needs some text.")
    return _to(request, bucket, "notes")


@require_POST
def edit_note(request: HttpRequest, uuid: UUID, pk: int) -> HttpResponse:
    note, form = _own_note(request, uuid, pk), NoteForm(request.POST)
    if form.is_valid():
        services.edit_note(note, text=form.cleaned_data["text"], who=person(request))
    else:
        messages.error(request, "A note needs some text. To take it away, delete it.")
    return _to(request, note.bucket, "notes")


@require_POST
def delete_note(request: HttpRequest, uuid: UUID, pk: int) -> HttpResponse:
    note = _own_note(request, uuid, pk)
    done = services.delete_note(note, who=person(request))
    messages.success(request, "The note is deleted.", extra_tags=f"undo:{done.batch}")
    return _to(request, note.bucket, "notes")


# -------------------------------------------------------------------------------------- pieces
def _own_note(request: HttpRequest, uuid: UUID, pk: int) -> Note:
    """Notes are changed by who wrote them."""
    rows = Note.objects.select_related("bucket").filter(author=person(request), deleted_in=None)
    return get_object_or_404(rows, pk=pk, bucket__uuid=uuid)


def _to(request: HttpRequest, bucket: Bucket, place: str) -> HttpResponse:
    """Back to the page that the form was on, with the list it was walked in, at a place of it."""
    return redirect(f"{back(request, bucket.get_absolute_url()).partition('#')[0]}#{place}")


def _show(request: HttpRequest, bucket: Bucket, record: FindingRecord | None) -> HttpResponse:
    page = bucket_page(
        bucket,
        record,
        members=request.GET.get("members"),
        whole_history=request.GET.get("history") == "all",
    )
    # Without a list in the address: the inbox as this browser saw it last.
    query = request.GET.get("list", request.COOKIES.get("inbox", ""))
    context: dict[str, Any] = {
        "page": page,
        "bucket": bucket,
        "walk": walk(bucket, query=query, user=person(request)),
        "next": next_step(bucket, record=page.record, reports=page.reports),
        "moves": services.allowed_moves(bucket.status),
        "chosen": request.GET.get("to", ""),
        "team": list(team()),
        "false_alarms": Bucket.FalseAlarm.choices,
        "note_form": NoteForm(),
        "versions": version_panel(bucket),
    }
    if page.record is not None:
        context |= {
            "record": page.record,
            "rerun": rerun_panel(page.record),
            "rerun_form": RerunForm(page.record.framework),
            "panel": finding_panel(page.record, request.GET),
        }
        context |= _evidence(context)
    return render(request, "triage/bucket.html", context)


def _evidence(context: Mapping[str, Any]) -> dict[str, Any]:
    """What the panels show of a finding, or why it cannot be read."""
    record: FindingRecord = context["record"]
    try:
        finding = record.finding()
    except (KeyError, TypeError, ValueError) as error:
        return {"problem": f"{type(error).__name__}: {error}"}
    return {
        "finding": finding,
        "summary": summary(record, finding, latest=context["rerun"].latest),
        "quantities": quantities(finding),
        "axes": ablation_axes(finding),
        "meaning": ablation_sentence(finding),
        "points": points_of(record),
        "small_picture": (
            program_picture(finding.minimised_text, diverges=finding.divergence)
            if finding.minimised_text
            else ""
        ),
    }
