"""Forms of triage: decisions about buckets, notes, saved views, reports."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import Q

from campaigns.models import Environment
from triage.bucket_selectors import environments_of
from triage.models import Bucket, Report
from triage.reruns import ATTEMPTS
from triage.routing import resolved
from triage.selectors import team
from triage.trackers import FORMS

__all__ = [
    "AssignForm",
    "BucketField",
    "BulkForm",
    "LabelForm",
    "LinkForm",
    "MoveForm",
    "NoteForm",
    "ReportForm",
    "ReportMoveForm",
    "RerunForm",
    "SavedViewForm",
    "ViewForm",
]


class BucketField(forms.CharField):
    """A bucket by the address of its page, of one of its findings, or by its id alone.

    Cleans to the bucket, or to what it was merged into; to None where it is empty.
    """

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        ids = _UUID.findall(text)
        for one in reversed(ids):
            found = Bucket.with_merged.filter(Q(uuid=one) | Q(findings__uuid=one)).first()
            if found is not None:
                return resolved(found)
        raise forms.ValidationError("No bucket and no finding is at that address.")


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class MoveForm(forms.Form):
    """A status for a bucket, with what goes with it.

    `page` is sent by the bucket's page, which has room for the rest: there a duplicate must say of
    what, and a known limit shows first what it would suppress. `row` is sent by a row of the inbox,
    from which such verdicts lead to the pages that ask for the rest.
    """

    to = forms.ChoiceField(
        choices=Bucket.Status,
        label="Status",
        error_messages={
            "required": "Choose a status from the list.",
            "invalid_choice": "Choose a status from the list.",
        },
    )
    why = forms.CharField(max_length=500, required=False, label="Reason")
    false_alarm = forms.ChoiceField(
        choices=[("", ""), *Bucket.FalseAlarm.choices], required=False, label="Kind of false alarm"
    )
    duplicate_of = BucketField(required=False, label="Duplicate of")
    page = forms.BooleanField(required=False)
    row = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not data.get("page") or self.errors:
            return data
        if data["to"] == Bucket.Status.DUPLICATE and data.get("duplicate_of") is None:
            raise forms.ValidationError("Say which bucket it is a duplicate of.")
        if data["to"] == Bucket.Status.FALSE_ALARM and not data.get("false_alarm"):
            raise forms.ValidationError("Say which kind of false alarm it is.")
        return data

    @property
    def wants_limit_page(self) -> bool:
        data = self.cleaned_data
        return bool(data["to"] == Bucket.Status.KNOWN_LIMIT and (data["page"] or data["row"]))

    @property
    def wants_bucket_page(self) -> bool:
        asks = (Bucket.Status.DUPLICATE, Bucket.Status.FALSE_ALARM)
        return bool(self.cleaned_data["to"] in asks and self.cleaned_data["row"])

    def decision(self) -> dict[str, Any]:
        """The arguments of `services.move_buckets`."""
        places = ("page", "row")
        return {name: value for name, value in self.cleaned_data.items() if name not in places}


class AssignForm(forms.Form):
    """Somebody, or nobody where it is empty."""

    assignee = forms.ModelChoiceField(
        queryset=User.objects.none(), to_field_name="username", required=False
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["assignee"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = team()


class LabelForm(forms.Form):
    name = forms.CharField(max_length=40, label="Label")


class NoteForm(forms.Form):
    text = forms.CharField(
        max_length=20_000,
        label="Note",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Markdown.",
    )


class RerunForm(forms.Form):
    """Where and how often a finding's script is run again; no environment means our own."""

    environment = forms.ModelChoiceField(
        queryset=Environment.objects.none(), to_field_name="uuid", required=False
    )
    attempts = forms.TypedChoiceField(
        choices=[(count, "once" if count == 1 else f"{count} times") for count in ATTEMPTS],
        coerce=int,
        initial=3,
        label="How often",
    )

    def __init__(self, framework: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["environment"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = environments_of(framework)


class SavedViewForm(forms.Form):
    name = forms.CharField(max_length=60, label="Name")
    shared = forms.BooleanField(required=False, label="For everybody")
    query = forms.CharField(max_length=1000, required=False, widget=forms.HiddenInput)


class ViewForm(forms.Form):
    """What can be changed of a saved view."""

    name = forms.CharField(max_length=60, label="Name")
    shared = forms.BooleanField(required=False, label="For everybody")


class BulkForm(AssignForm):
    """One action on many buckets: those picked, or all that the filters match.

    `matching`: how many those were when the page was made.
    """

    ACTIONS = [
        ("move", "Status"),
        ("assign", "Assignee"),
        ("label", "Label"),
        ("unlabel", "No label"),
    ]

    action = forms.ChoiceField(choices=ACTIONS)
    picked = forms.ModelMultipleChoiceField(
        queryset=Bucket.objects.all(), to_field_name="uuid", required=False
    )
    everything = forms.BooleanField(required=False)
    matching = forms.IntegerField(required=False, min_value=0)
    to = forms.ChoiceField(choices=Bucket.Status, required=False)
    false_alarm = forms.ChoiceField(choices=[("", ""), *Bucket.FalseAlarm.choices], required=False)
    name = forms.CharField(max_length=40, required=False)
    why = forms.CharField(max_length=500, required=False)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not data.get("picked") and not data.get("everything"):
            raise forms.ValidationError("Pick at least one bucket.")
        if data.get("action") == "move" and not data.get("to"):
            raise forms.ValidationError("Choose a status.")
        if data.get("action") == "move":
            self._check_verdict(data)
        if data.get("action") in ("label", "unlabel") and not data.get("name"):
            raise forms.ValidationError("Say which label.")
        return data

    def _check_verdict(self, data: dict[str, Any]) -> None:
        """Many at once may be given what needs no more than the bar of the inbox asks for."""
        status = Bucket.Status(data["to"])
        if status == Bucket.Status.DUPLICATE:
            raise forms.ValidationError(
                "Merge duplicates, or say on the page of each which bucket it is a duplicate of."
            )
        if status == Bucket.Status.KNOWN_LIMIT:
            raise forms.ValidationError(
                "A known limit is accepted on the page of its bucket, which shows what it catches."
            )
        if status == Bucket.Status.FALSE_ALARM and not data.get("false_alarm"):
            raise forms.ValidationError("Say which kind of false alarm it is.")

    @classmethod
    def statuses(cls) -> list[Bucket.Status]:
        """What many may be given at once."""
        alone = (Bucket.Status.DUPLICATE, Bucket.Status.KNOWN_LIMIT)
        return [status for status in Bucket.Status if status not in alone]


class ReportForm(forms.Form):
    """The title and the fields of the report's own tracker form."""

    title = forms.CharField(max_length=255)

    def __init__(self, report: Report, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {"title": report.title, **report.fields})
        super().__init__(*args, **kwargs)
        for one in FORMS[report.form].fields:
            lines = min(24, report.fields.get(one.key, "").count("\n") + 2)
            self.fields[one.key] = forms.CharField(
                label=one.title,
                help_text=one.help,
                required=one.required,
                widget=forms.Textarea(attrs={"rows": lines, "class": "mono"}),
                strip=False,
            )

    def texts(self) -> dict[str, str]:
        """The form's fields without the title, with plain line ends."""
        return {
            key: text.replace("\r\n", "\n")
            for key, text in self.cleaned_data.items()
            if key != "title"
        }


class LinkForm(forms.Form):
    """Address of the issue that a person has filed."""

    url = forms.URLField(max_length=500, assume_scheme="https", label="Address of the issue")

    def __init__(self, report: Report, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.report = report

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        if not url.startswith(("https://", "http://")):
            raise forms.ValidationError("An address begins with https://.")
        other = Report.objects.filter(upstream_url=url).exclude(pk=self.report.pk).first()
        if other is not None:
            raise forms.ValidationError(f"Already linked to the report “{other.title}”.")
        return url


class ReportMoveForm(forms.Form):
    to = forms.ChoiceField(choices=Report.Status, label="Status")
    why = forms.CharField(max_length=500, required=False, label="Reason")
