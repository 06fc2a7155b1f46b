"""Filters of the inbox: one set for the page, its exports and the API. The URL is their state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.http import QueryDict
from django.utils import timezone

from triage.models import Bucket, Facet, FindingRecord, Framework, Symptom

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["NEEDS_A_PERSON", "SORTS", "BucketFilter", "Chip", "active_chips", "sorted_buckets"]

# What the inbox shows at first: neither settled nor suppressed, or flagged by a machine.
NEEDS_A_PERSON = Q(
    Q(suppression=None) | Q(suppression__expires_at__lte=Now()),
    status__in=[Bucket.Status.NEW, Bucket.Status.NEEDS_WORK, Bucket.Status.CONFIRMED],
) | ~Q(flag="")
_STATUS_CHOICES = [
    ("open", "Needs a person"),
    ("all", "Every status"),
    ("flagged", "Flagged"),
    *Bucket.Status.choices,
]
_AGES = {"1": "last day", "7": "last week", "30": "last month"}
# Column in the URL -> columns of the database; every sort ends with the id, so that pages agree.
SORTS: Mapping[str, tuple[str, ...]] = {
    "impact": ("impact", "last_seen"),
    "title": ("title",),
    "symptom": ("symptom", "impact"),
    "status": ("status", "impact"),
    "count": ("count",),
    "size": ("minimised_nodes",),
    "first_seen": ("first_seen",),
    "last_seen": ("last_seen",),
}
_DEFAULT_SORT = "-impact"


class BucketFilter(django_filters.FilterSet):
    """Every filter narrows, one given twice widens itself; no status means what needs a person."""

    q = django_filters.CharFilter(method="by_text", label="Text")
    status = django_filters.MultipleChoiceFilter(
        choices=_STATUS_CHOICES, method="by_status", label="Status"
    )
    symptom = django_filters.MultipleChoiceFilter(choices=Symptom.choices, label="Symptom")
    framework = django_filters.MultipleChoiceFilter(choices=Framework.choices, label="Framework")
    assignee = django_filters.CharFilter(method="by_assignee", label="Assignee")
    label = django_filters.CharFilter(
        field_name="labels__name", lookup_expr="iexact", label="Label"
    )
    campaign = django_filters.UUIDFilter(method="by_campaign", label="Campaign")
    age = django_filters.ChoiceFilter(choices=list(_AGES.items()), method="by_age", label="Seen")
    mode = django_filters.CharFilter(method="by_facet", label="Mode")
    op = django_filters.CharFilter(method="by_facet", label="Operator")
    # Not `form`, which is the filter set's own form.
    call_form = django_filters.CharFilter(method="by_facet", label="Call form")
    dtype = django_filters.CharFilter(method="by_facet", label="Dtype")
    seed = django_filters.CharFilter(method="by_facet", label="Seed")
    mutator = django_filters.CharFilter(method="by_facet", label="Mutation")

    class Meta:
        model = Bucket
        fields: list[str] = []

    def __init__(
        self, data: QueryDict, *args: Any, user: User | None = None, **kwargs: Any
    ) -> None:
        data = data.copy()
        if not [value for value in data.getlist("status") if value]:
            data.setlist("status", ["open"])
        self.user = user
        super().__init__(data, *args, **kwargs)

    def by_text(self, rows: QuerySet[Bucket], name: str, text: str) -> QuerySet[Bucket]:
        """Every word somewhere in the title, the verdict, the operator or the signature."""
        for word in text.split():
            rows = rows.filter(
                Q(title__icontains=word)
                | Q(verdict__icontains=word)
                | Q(op__icontains=word)
                | Q(signature__icontains=word)
            )
        return rows

    def by_status(self, rows: QuerySet[Bucket], name: str, values: list[str]) -> QuerySet[Bucket]:
        if "all" in values:
            return rows
        wanted = Q(status__in=values)
        if "open" in values:
            wanted |= NEEDS_A_PERSON
        if "flagged" in values:
            wanted |= ~Q(flag="")
        return rows.filter(wanted)

    def by_assignee(self, rows: QuerySet[Bucket], name: str, value: str) -> QuerySet[Bucket]:
        """A user name, "me" or "nobody"."""
        if value == "nobody":
            return rows.filter(assignee=None)
        if value == "me":
            return rows.filter(assignee=self.user) if self.user else rows.none()
        return rows.filter(assignee__username=value)

    def by_campaign(self, rows: QuerySet[Bucket], name: str, value: UUID) -> QuerySet[Bucket]:
        members = FindingRecord.objects.filter(bucket=OuterRef("pk"), campaign__uuid=value)
        return rows.filter(Exists(members))

    def by_age(self, rows: QuerySet[Bucket], name: str, days: str) -> QuerySet[Bucket]:
        return rows.filter(last_seen__gt=timezone.now() - timedelta(days=int(days)))

    def by_facet(self, rows: QuerySet[Bucket], name: str, value: str) -> QuerySet[Bucket]:
        kind = name.removeprefix("call_")
        return rows.filter(
            Exists(Facet.objects.filter(bucket=OuterRef("pk"), kind=kind, value=value))
        )


def sorted_buckets(rows: QuerySet[Bucket], sort: str) -> QuerySet[Bucket]:
    """By a column of `SORTS`, "-" for the greatest first; an unknown one sorts by impact."""
    wanted = sort if sort.removeprefix("-") in SORTS else _DEFAULT_SORT
    sign = "-" if wanted.startswith("-") else ""
    first, *rest = SORTS[wanted.removeprefix("-")]
    return rows.order_by(f"{sign}{first}", *(f"-{column}" for column in rest), "-id")


@dataclass(frozen=True)
class Chip:
    """An active filter and the query string without it."""

    name: str
    text: str
    without: str


def active_chips(chosen: BucketFilter, query: QueryDict) -> Iterator[Chip]:
    """One chip for each value in the URL that narrows the list."""
    for name, one in chosen.filters.items():
        for value in query.getlist(name):
            if not value:
                continue
            rest = query.copy()
            rest.setlist(name, [other for other in query.getlist(name) if other != value])
            rest.pop("page", None)
            field = one.field
            text = str(_texts(field).get(value, value))
            yield Chip(str(one.label), text, rest.urlencode())


def _texts(field: forms.Field) -> dict[str, str]:
    """What the choices of a field say, by value; empty for a field without choices."""
    choices: Any = getattr(field, "choices", ())
    return {str(value): str(text) for value, text in choices}
