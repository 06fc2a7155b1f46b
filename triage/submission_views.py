"""Pages of submitted reproducers: the list, one of them, and, where it is allowed, the upload."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns.models import Environment
from engine.errors import BadInput
from engine.foreign.reading import MOST_BYTES
from triage.models import Framework, Submission, Symptom
from triage.people import person
from triage.reruns import ATTEMPTS
from triage.submitting import cancel_submission as cancel
from triage.submitting import submit

__all__ = [
    "add_submission",
    "cancel_submission",
    "download_submission",
    "list_submissions",
    "may_upload",
    "show_submission",
]

_PAGE = 30


class UploadForm(forms.Form):
    """A script, and where and how often it is run."""

    script = forms.FileField(
        label="Script",
        help_text="A module with `inputs` and a `function`, or a script that asserts a bug.",
        widget=forms.ClearableFileInput(attrs={"accept": ".py,text/x-python"}),
    )
    framework = forms.ChoiceField(
        choices=[("", "the one that it imports"), *Framework.choices], required=False
    )
    environment = forms.ModelChoiceField(
        queryset=Environment.objects.all(),
        to_field_name="uuid",
        required=False,
        empty_label="the framework's own",
    )
    attempts = forms.TypedChoiceField(
        choices=[(count, str(count)) for count in ATTEMPTS], coerce=int, initial=3
    )
    symptom = forms.ChoiceField(choices=[("", "by how it fails"), *Symptom.choices], required=False)
    everywhere = forms.BooleanField(
        required=False, label="Then run it on all environments of its framework"
    )

    def clean_script(self) -> tuple[str, str]:
        """Its name and its text."""
        file = self.cleaned_data["script"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(f"{file.size} bytes; at most {MOST_BYTES}.")
        try:
            return str(file.name), file.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise forms.ValidationError("It is no text in UTF-8.") from error


def may_upload(request: HttpRequest) -> bool:
    """A script runs whatever its author wrote: administrators, where the site allows it at all."""
    return bool(settings.SCRIPT_UPLOAD and request.user.is_staff)


@require_safe
def list_submissions(request: HttpRequest) -> HttpResponse:
    return _page(request, UploadForm())


def _page(request: HttpRequest, form: UploadForm, *, status: int = 200) -> HttpResponse:
    rows = Submission.objects.select_related("asked_by", "environment", "finding").defer("text")
    context = {
        "page": Paginator(rows, _PAGE).get_page(request.GET.get("page")),
        "form": form if may_upload(request) else None,
        "is_open": settings.SCRIPT_UPLOAD,
    }
    return render(request, "triage/submissions.html", context, status=status)


@require_POST
def add_submission(request: HttpRequest) -> HttpResponse:
    if not may_upload(request):
        raise PermissionDenied
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, form, status=400)
    given = dict(form.cleaned_data)
    name, text = given.pop("script")
    try:
        made = submit(text, name=name, who=person(request), **given)
    except BadInput as error:
        form.add_error("script", str(error))
        return _page(request, form, status=400)
    return redirect(made)


def _submission(uuid: UUID) -> Submission:
    """The one loader: everybody who is logged in may see what was submitted."""
    rows = Submission.objects.select_related("asked_by", "environment", "finding__bucket")
    return get_object_or_404(rows, uuid=uuid)


@require_safe
def show_submission(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The page, or for polling its panel alone."""
    context = {"submission": _submission(uuid)}
    if request.headers.get("HX-Request"):
        return render(request, "triage/panels/submission.html", context)
    return render(request, "triage/submission.html", context)


@require_safe
def download_submission(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The script as it was submitted."""
    return HttpResponse(_submission(uuid).text, content_type="text/plain; charset=utf-8")


@require_POST
def cancel_submission(request: HttpRequest, uuid: UUID) -> HttpResponse:
    submission = _submission(uuid)
    if submission.asked_by != request.user and not request.user.is_staff:
        raise PermissionDenied
    if not cancel(submission):
        messages.error(request, "It has ended already.")
    return redirect(submission)
