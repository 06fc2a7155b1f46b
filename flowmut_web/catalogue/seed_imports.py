"""Seeds that people bring: the upload, its progress, and the removal of what nothing used."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from campaigns.models import ImportedSeed
from campaigns.seeds import imported_seeds
from engine.errors import BadInput
from flowmut_web.seed_imports import KINDS, remove_seed, upload_seed
from triage.leases import cancel
from triage.people import person

__all__ = ["UploadSeedForm", "may_upload", "remove", "show_import", "upload"]


class UploadSeedForm(forms.Form):
    """A file, and what the seed is called."""

    file = forms.FileField(
        label="File",
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(KINDS)}),
    )
    name = forms.CharField(
        max_length=60,
        help_text="Lower-case letters, digits and underscores; the file has it, too.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most = settings.SEED_UPLOAD_MB
        self.fields[
            "file"
        ].help_text = f"An ONNX model (.onnx) or a graph as text (.flow), at most {most} MB."

    def clean_file(self) -> Any:
        file, most = self.cleaned_data["file"], settings.SEED_UPLOAD_MB
        if file.size > most * 2**20:
            raise forms.ValidationError(f"{file.size:,} bytes; at most {most} MB.")
        return file


def may_upload(request: HttpRequest) -> bool:
    """Reading a model takes a worker's time and memory: administrators only."""
    return bool(request.user.is_staff)


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    from flowmut_web.catalogue.seeds import seeds_page  # which shows this form

    if not may_upload(request):
        raise PermissionDenied
    form = UploadSeedForm(request.POST, request.FILES)
    if not form.is_valid():
        return seeds_page(request, form, status=400)
    file = form.cleaned_data["file"]
    try:
        made = upload_seed(
            form.cleaned_data["name"], file=file.name, content=file.read(), who=person(request)
        )
    except BadInput as error:
        form.add_error("name" if error.thing == "name" else "file", str(error))
        return seeds_page(request, form, status=400)
    return redirect("catalogue:show-seed", made.name)


def show_import(request: HttpRequest, seed: ImportedSeed) -> HttpResponse:
    """The page of an import that is no seed yet, or for polling its panel alone."""
    alone = request.headers.get("HX-Request")
    template = "catalogue/import_panel.html" if alone else "catalogue/import.html"
    context = {"seed": seed, "may_remove": may_upload(request)}
    return render(request, template, context)


@require_POST
def remove(request: HttpRequest, name: str) -> HttpResponse:
    """Forget a seed that nothing used, or an import that failed; one on its way is cancelled."""
    if not may_upload(request):
        raise PermissionDenied
    seed = get_object_or_404(imported_seeds(), name=name)
    cancel(seed)
    try:
        remove_seed(seed)
    except BadInput as error:
        messages.error(request, f"{error.thing} stays: {error.seen}.")
        return redirect("catalogue:show-seed", name)
    messages.success(request, f"{name} is gone.")
    return redirect("catalogue:list-seeds")
