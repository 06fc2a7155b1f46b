"""Forms of grouping and suppressions: merge, split, rule, known limit, expiry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils import timezone

from triage.forms import BucketField
from triage.models import Bucket, FindingRecord
from triage.suppressing import DEFAULT_DAYS

__all__ = ["ExpiryForm", "LimitForm", "MergeForm", "PartsForm", "SplitForm"]


class MergeForm(forms.Form):
    """The buckets to merge: those picked, and one whose address was pasted."""

    picked = forms.ModelMultipleChoiceField(
        queryset=Bucket.objects.all(), to_field_name="uuid", required=False
    )
    address = BucketField(required=False, label="Address of a bucket")
    into = BucketField(required=False)
    why = forms.CharField(max_length=500, required=False, label="Reason")

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        buckets = {bucket.pk: bucket for bucket in data.get("picked") or ()}
        if data.get("address"):
            buckets[data["address"].pk] = data["address"]
        if not self.errors and len(buckets) < 2:
            raise forms.ValidationError("Pick at least two buckets to merge.")
        into = data.get("into")
        if into is None or into.pk not in buckets:
            into = max(buckets.values(), key=_weight, default=None)
        data["into"] = into
        data["sources"] = [bucket for bucket in buckets.values() if bucket != into]
        return data


def _weight(bucket: Bucket) -> tuple[bool, int, int]:
    """A bucket that a person has judged takes in the others, else the greatest."""
    return (bucket.status != Bucket.Status.NEW, bucket.count, -bucket.pk)


class SplitForm(forms.Form):
    """Members by their ids, or all that have a value in one part of the signature."""

    member = forms.ModelMultipleChoiceField(
        queryset=FindingRecord.objects.all(), to_field_name="uuid", required=False
    )
    part = forms.CharField(max_length=40, required=False)
    value = forms.CharField(max_length=2000, required=False, strip=False)
    why = forms.CharField(max_length=500, required=False, label="Reason")

    def __init__(self, bucket: Bucket, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bucket = bucket

    def members(self) -> QuerySet[FindingRecord]:
        """Those picked, of this bucket."""
        mine = FindingRecord.objects.filter(bucket=self.bucket)
        part = self.cleaned_data["part"]
        if part.isidentifier():
            value = self.cleaned_data["value"]
            ids = [
                pk for pk, parts in mine.values_list("pk", "parts") if parts.get(part, "") == value
            ]
            return mine.filter(pk__in=ids)
        return mine.filter(pk__in=[record.pk for record in self.cleaned_data["member"]])


class PartsForm(forms.Form):
    """Names of parts of the signature; their values are those of `parts`."""

    part = forms.MultipleChoiceField(required=False, label="Parts that matter")
    why = forms.CharField(max_length=500, required=False, label="Reason")

    def __init__(self, parts: Mapping[str, str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parts = parts
        field = self.fields["part"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(name, name) for name in parts if name != "version"]

    def chosen(self) -> dict[str, str]:
        """Name -> value of the parts that were ticked."""
        return {name: self.parts[name] for name in self.cleaned_data["part"]}


def _default_end() -> date:
    return timezone.localdate() + timedelta(days=DEFAULT_DAYS)


class ExpiryForm(forms.Form):
    """The day on which a suppression ends."""

    expires_on = forms.DateField(
        label="Ends on",
        initial=_default_end,
        # What a date field of a browser reads, whatever the language.
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def clean_expires_on(self) -> date:
        day: date = self.cleaned_data["expires_on"]
        if day <= timezone.localdate():
            raise forms.ValidationError("It must end on a day to come. To end it now, lift it.")
        return day

    def expires_at(self) -> datetime:
        """When that day begins."""
        return timezone.make_aware(datetime.combine(self.cleaned_data["expires_on"], time()))


class LimitForm(PartsForm, ExpiryForm):
    """What a known limit suppresses, why, until when, and who says that it is one."""

    why = forms.CharField(max_length=500, label="Reason")
    source = forms.CharField(
        max_length=500,
        label="Source",
        help_text="An address, or the line of the documentation that says so.",
    )
    field_order = ["why", "source", "expires_on", "part"]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not self.errors and not data.get("part"):
            raise forms.ValidationError("Tick at least one part: without any, all would match.")
        return data
