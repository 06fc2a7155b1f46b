"""Forms of reports: overriding a rule, searching a tracker, posting, templates of drafts."""

from __future__ import annotations

from typing import Any

from django import forms

from triage.drafting.versions import MOST_TEMPLATE, text_titles
from triage.linting.rules import RULES
from triage.models import DraftTemplate, FindingRecord, Framework
from triage.trackers import Form

__all__ = ["FileForm", "OverrideForm", "SearchForm", "TemplateForm", "findings_of"]

_FINDINGS = 50


class OverrideForm(forms.Form):
    """Why a report is filed although a rule is broken. `seen`: what the person saw of the rule."""

    rule = forms.ChoiceField(choices=[(key, rule.title) for key, rule in RULES.items()])
    seen = forms.CharField(max_length=5000)
    reason = forms.CharField(max_length=500, min_length=10, label="Reason")


class SearchForm(forms.Form):
    """What the tracker is asked for."""

    query = forms.CharField(max_length=200, label="Words to search for")


class FileForm(forms.Form):
    """The explicit confirmation."""

    confirmed = forms.BooleanField(
        label="I have read it as its maintainer would, and I want it posted as it stands here."
    )


class TemplateForm(forms.Form):
    """Every text of a form's templates, the finding that previews them, and why they change."""

    why = forms.CharField(max_length=500, required=False, label="What you change, and why")
    finding = forms.ModelChoiceField(
        queryset=FindingRecord.objects.none(), to_field_name="uuid", required=False
    )

    def __init__(self, form: Form, version: DraftTemplate, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {f"text-{k}": text for k, text in version.texts.items()})
        super().__init__(*args, **kwargs)
        self.keys = list(text_titles(form))
        for key, title in text_titles(form).items():
            lines = min(24, version.texts.get(key, "").count("\n") + 2)
            self.fields[f"text-{key}"] = forms.CharField(
                label=title,
                max_length=MOST_TEMPLATE,
                required=False,
                strip=False,
                widget=forms.Textarea(
                    attrs={"rows": lines, "class": "mono", "spellcheck": "false"}
                ),
            )
        chosen = self.fields["finding"]
        assert isinstance(chosen, forms.ModelChoiceField)
        chosen.queryset = findings_of(form)

    def texts(self) -> dict[str, str]:
        """The texts by key, with plain line ends."""
        found = {key: self.cleaned_data.get(f"text-{key}") or "" for key in self.keys}
        return {key: text.replace("\r\n", "\n") for key, text in found.items()}


def findings_of(form: Form) -> Any:
    """Findings that a form's preview may show, newest first: those of its framework."""
    framework = Framework.MINDSPORE if form.tracker == "mindspore" else Framework.TORCH
    newest = FindingRecord.objects.filter(framework=framework).order_by("-created_at", "-id")
    return FindingRecord.objects.filter(
        pk__in=list(newest.values_list("pk", flat=True)[:_FINDINGS])
    )
