"""Forms of retests: where and how often, and which buckets the matrix shows."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q, QuerySet

from campaigns.models import Environment
from triage.models import Bucket, Framework
from triage.reruns import ATTEMPTS
from triage.versions import VERIFYING

__all__ = ["MatrixForm", "RetestForm"]

_COUNTS = [
    (
        count,
        ("once" if count == 1 else f"{count} times")
        + (", which verifies a fix" if count == VERIFYING else ""),
    )
    for count in ATTEMPTS
]


class RetestForm(forms.Form):
    """No environment means all of the framework."""

    environment = forms.ModelChoiceField(
        queryset=Environment.objects.none(), to_field_name="uuid", required=False
    )
    attempts = forms.TypedChoiceField(choices=_COUNTS, coerce=int, initial=3, label="How often")

    def __init__(self, framework: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.environments = Environment.objects.filter(framework=framework)
        field = self.fields["environment"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = self.environments

    def chosen(self) -> list[Environment]:
        one = self.cleaned_data["environment"]
        return [one] if one else list(self.environments.filter(healthy=True))


class MatrixForm(forms.Form):
    """Which buckets: filters of the matrix's address."""

    RUNS = [("", "any"), ("yes", "ran on another version"), ("no", "never ran again")]

    framework = forms.ChoiceField(choices=Framework, required=False)
    status = forms.ChoiceField(choices=[("", "any"), *Bucket.Status.choices], required=False)
    runs = forms.ChoiceField(choices=RUNS, required=False, label="Runs")
    q = forms.CharField(max_length=100, required=False, label="Title or operator")

    def framework_or(self, default: str) -> str:
        return str(self.cleaned_data.get("framework") or default)

    def narrowed(self, buckets: QuerySet[Bucket]) -> QuerySet[Bucket]:
        """What is not said narrows nothing."""
        given = self.cleaned_data
        if given.get("status"):
            buckets = buckets.filter(status=given["status"])
        if given.get("runs"):
            ran = Q(findings__reruns__state__in=["finished", "failed"])
            chosen = buckets.filter(ran).values("pk")
            is_in = Q(pk__in=chosen)
            buckets = buckets.filter(is_in if given["runs"] == "yes" else ~is_in)
        if given.get("q"):
            words = given["q"]
            buckets = buckets.filter(Q(title__icontains=words) | Q(op__icontains=words))
        return buckets
