"""Pages of the templates of drafts: the editor with its preview, versions, going back."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from triage.drafting import Draft, draft
from triage.drafting.rendering import TemplateFaultError
from triage.drafting.variables import VARIABLES
from triage.drafting.versions import (
    back_to_shipped,
    back_to_version,
    current_version,
    differences,
    save_version,
    shipped_texts,
    text_titles,
)
from triage.models import DraftTemplate, FindingRecord
from triage.people import person
from triage.report_forms import TemplateForm, findings_of
from triage.trackers import FORMS, Form

__all__ = [
    "list_templates",
    "preview_template",
    "restore_shipped",
    "restore_template",
    "save_template",
    "show_template",
    "show_version",
]


def _form(key: str) -> Form:
    """The one loader: everybody who is logged in may read and write templates."""
    if key not in FORMS:
        raise Http404("No tracker has such a form.")
    return FORMS[key]


def _version(form: Form, number: int) -> DraftTemplate:
    return get_object_or_404(DraftTemplate, form=form.key, number=number)


@require_safe
def list_templates(request: HttpRequest) -> HttpResponse:
    """Every form with the version that holds."""
    rows = [(form, current_version(form.key)) for form in FORMS.values()]
    return render(request, "triage/templates.html", {"rows": rows})


@require_safe
def show_template(request: HttpRequest, key: str) -> HttpResponse:
    form = _form(key)
    version = current_version(key)
    return _page(request, form, version, TemplateForm(form, version))


@require_POST
def save_template(request: HttpRequest, key: str) -> HttpResponse:
    """A new version, or the preview alone where the button says so. What cannot be filled in from
    the chosen finding is not saved: its error says where."""
    form = _form(key)
    version = current_version(key)
    given = TemplateForm(form, version, request.POST)
    if not given.is_valid():
        return _page(request, form, version, given, status=422)
    preview = _preview(form, given)
    if "preview" in request.POST:
        return _page(request, form, version, given, preview=preview)
    if "fault" in preview:
        return _page(request, form, version, given, preview=preview, status=422)
    made = save_version(
        key, texts=given.texts(), why=given.cleaned_data["why"], who=person(request)
    )
    if made == version:
        messages.info(request, "Nothing was changed.")
    else:
        messages.success(request, f"Saved as version {made.number}. New drafts use it.")
    return redirect("triage:show-template", key)


@require_POST
def preview_template(request: HttpRequest, key: str) -> HttpResponse:
    """The preview alone; nothing is saved."""
    form = _form(key)
    given = TemplateForm(form, current_version(key), request.POST)
    context = _preview(form, given) if given.is_valid() else {"problem": "A text is too long."}
    return render(request, "triage/template_preview.html", {"tracker_form": form, **context})


@require_safe
def show_version(request: HttpRequest, key: str, number: int) -> HttpResponse:
    """One version: what it changed, and what differs from the one that holds."""
    form = _form(key)
    version = _version(form, number)
    before = DraftTemplate.objects.filter(form=key, number__lt=number).first()
    current = current_version(key)
    context = {
        "tracker_form": form,
        "version": version,
        "before": before,
        "current": current,
        "changed": list(differences(before.texts, version.texts, form)) if before else [],
        "back": list(differences(current.texts, version.texts, form)),
        "reports": version.reports.count(),
        "texts": [(title, version.texts.get(key, "")) for key, title in text_titles(form).items()],
    }
    return render(request, "triage/template_version.html", context)


@require_POST
def restore_template(request: HttpRequest, key: str, number: int) -> HttpResponse:
    made = back_to_version(_version(_form(key), number), who=person(request))
    messages.success(request, f"Version {made.number} holds, with the texts of version {number}.")
    return redirect("triage:show-template", key)


@require_POST
def restore_shipped(request: HttpRequest, key: str) -> HttpResponse:
    made = back_to_shipped(_form(key).key, who=person(request))
    messages.success(request, f"Version {made.number} holds: what the product ships.")
    return redirect("triage:show-template", key)


def _page(
    request: HttpRequest,
    form: Form,
    version: DraftTemplate,
    given: TemplateForm,
    *,
    preview: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    versions = DraftTemplate.objects.filter(form=form.key).select_related("created_by")
    context = {
        "tracker_form": form,
        "version": version,
        "form": given,
        "texts": [given[f"text-{key}"] for key in given.keys],
        "findings": findings_of(form).order_by("-created_at", "-id"),
        "versions": versions,
        "variables": VARIABLES,
        "differs": version.texts != dict(shipped_texts(form.key)),
        **(preview if preview is not None else _shown(form, version)),
    }
    return render(request, "triage/template.html", context, status=status)


def _shown(form: Form, version: DraftTemplate) -> dict[str, Any]:
    return _filled(form, version.texts, findings_of(form).order_by("-created_at", "-id").first())


def _preview(form: Form, given: TemplateForm) -> dict[str, Any]:
    chosen = given.cleaned_data.get("finding")
    newest = findings_of(form).order_by("-created_at", "-id").first()
    return _filled(form, given.texts(), chosen or newest)


def _filled(form: Form, texts: Any, record: FindingRecord | None) -> dict[str, Any]:
    """A draft of a real finding, or the fault with its line; nothing where there is no finding."""
    if record is None:
        return {"record": None}
    try:
        made: Draft = draft(record.finding(), texts, form=form)
    except TemplateFaultError as fault:
        return {"record": record, "fault": fault}
    except (KeyError, TypeError):
        return {"record": record, "problem": "Another version of the engine wrote this finding."}
    parts = [(field, made.fields[field.key]) for field in form.fields]
    return {"record": record, "parts": parts, "title": made.title}
