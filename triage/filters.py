"""Filters of the inbox: one set for the page, its exports and the API. The URL is their state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django_filters
from django import forms
from django.db.models import Case, Exists, F, FloatField, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import BaseExpression
from django.db.models.functions import Cast, Now
from django.http import QueryDict
from django.utils import timezone

from triage.models import Bucket, Facet, FindingRecord, Framework, Label, Note, Symptom

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "DEFAULT_SORT",
    "FACETS",
    "NEEDS_A_PERSON",
    "SORTS",
    "STATUS_CHOICES",
    "SUPPRESSED",
    "BucketFilter",
    "Chip",
    "active_chips",
    "sorted_buckets",
    "without",
]

# What the inbox shows at first: neither settled nor suppressed, or flagged by a machine.
SUPPRESSED = Q(suppression__expires_at__gt=Now())
NEEDS_A_PERSON = Q(
    Q(suppression=None) | Q(suppression__expires_at__lte=Now()),
    status__in=[Bucket.Status.NEW, Bucket.Status.NEEDS_WORK, Bucket.Status.CONFIRMED],
) | ~Q(flag="")
STATUS_CHOICES = [
    ("open", "Needs a person"),
    ("all", "Every status"),
    ("flagged", "Flagged"),
    ("suppressed", "Suppressed"),
    *Bucket.Status.choices,
]
_WITHIN = {"1": "in the last day", "7": "in the last week", "30": "in the last month"}
_NOT_FOR = {"-7": "not for a week", "-30": "not for a month"}
# Filter in the URL -> kind of facet. `form` would be the filter set's own form.
FACETS: Mapping[str, str] = {
    "mode": Facet.Kind.MODE,
    "op": Facet.Kind.OP,
    "call_form": Facet.Kind.FORM,
    "dtype": Facet.Kind.DTYPE,
    "seed": Facet.Kind.SEED,
    "mutator": Facet.Kind.MUTATOR,
}

# The order in which a bucket passes through the statuses, not that of the alphabet.
_STATUS_ORDER = Case(
    *(When(status=value, then=Value(place)) for place, value in enumerate(Bucket.Status.values))
)
_REPRODUCIBILITY = Case(
    When(attempts=0, then=Value(0.0)),
    default=Cast("reproduced", FloatField()) / F("attempts"),
    output_field=FloatField(),
)
_Column = str | BaseExpression
# Column in the URL -> columns of the database, the second of them from the greatest. Every sort
# ends with the id, so that pages agree.
SORTS: Mapping[str, tuple[_Column, ...]] = {
    "impact": ("impact", "last_seen"),
    "title": ("title", "impact"),
    "symptom": ("symptom", "impact"),
    "status": (_STATUS_ORDER, "impact"),
    "assignee": ("assignee__username", "impact"),
    "count": ("count", "impact"),
    "size": ("minimised_nodes", "impact"),
    "reproduced": (_REPRODUCIBILITY, "impact"),
    "first_seen": ("first_seen",),
    "last_seen": ("last_seen",),
}
DEFAULT_SORT = "-impact"
_MAY_BE_NOTHING = ("assignee__username",)


class _AnyValues(forms.MultipleChoiceField):
    """Several values, of which any may be one that no bucket has."""

    def valid_value(self, value: Any) -> bool:
        return True


class _UUIDs(_AnyValues):
    """Several ids."""

    def valid_value(self, value: Any) -> bool:
        try:
            UUID(str(value))
        except ValueError:
            return False
        return True


class _ValuesFilter(django_filters.MultipleChoiceFilter):
    field_class = _AnyValues


class _UUIDsFilter(django_filters.MultipleChoiceFilter):
    field_class = _UUIDs


class BucketFilter(django_filters.FilterSet):
    """Every filter narrows, one given twice widens itself; no status means what needs a person."""

    q = django_filters.CharFilter(method="by_text", label="Text")
    status = django_filters.MultipleChoiceFilter(
        choices=STATUS_CHOICES, method="by_status", label="Status"
    )
    symptom = django_filters.MultipleChoiceFilter(
        choices=Symptom.choices, label="Symptom", distinct=False
    )
    framework = django_filters.MultipleChoiceFilter(
        choices=Framework.choices, label="Framework", distinct=False
    )
    mode = _ValuesFilter(method="by_facet", label="Mode")
    op = _ValuesFilter(method="by_facet", label="Operator")
    call_form = _ValuesFilter(method="by_facet", label="Form")
    dtype = _ValuesFilter(method="by_facet", label="Dtype")
    seed = _ValuesFilter(method="by_facet", label="Seed")
    mutator = _ValuesFilter(method="by_facet", label="Mutation")
    campaign = _UUIDsFilter(method="by_campaign", label="Campaign")
    assignee = _ValuesFilter(
        method="by_assignee", label="Assignee", help_text='A user name, "me" or "nobody".'
    )
    label = _ValuesFilter(method="by_label", label="Label")
    age = django_filters.ChoiceFilter(
        choices=[*_WITHIN.items(), *_NOT_FOR.items()],
        method="by_age",
        label="Last seen",
        help_text="Days within which it was last seen; below 0, days for which it was not seen.",
    )
    found = django_filters.ChoiceFilter(
        choices=list(_WITHIN.items()),
        method="by_found",
        label="First seen",
        help_text="Days within which it was first seen.",
    )

    class Meta:
        model = Bucket
        fields: list[str] = []

    def __init__(
        self, data: QueryDict, *args: Any, user: User | None = None, **kwargs: Any
    ) -> None:
        given = QueryDict(mutable=True)
        for name, values in data.lists():
            given.setlist(name, [value for value in values if value])
        if not given.getlist("status"):
            given.setlist("status", ["open"])
        self.user = user
        super().__init__(given, *args, **kwargs)

    def by_text(self, rows: QuerySet[Bucket], name: str, text: str) -> QuerySet[Bucket]:
        """Every word somewhere in the title, the verdict, a failure's message, a note or a facet.

        The signature and the bucket's id are found too, so that either can be pasted.
        """
        mine = OuterRef("pk")
        for word in text.split():
            rows = rows.filter(
                Q(title__icontains=word)
                | Q(verdict__icontains=word)
                | Q(op__icontains=word)
                | Q(signature__icontains=word)
                | Q(uuid__in=_uuids(word))
                | Exists(FindingRecord.objects.filter(bucket=mine, key__icontains=word))
                | Exists(Facet.objects.filter(bucket=mine, value__icontains=word))
                | Exists(Note.objects.filter(bucket=mine, deleted_in=None, text__icontains=word))
            )
        return rows

    def by_status(self, rows: QuerySet[Bucket], name: str, value: list[str]) -> QuerySet[Bucket]:
        if "all" in value:
            return rows
        wanted = Q(status__in=value)
        if "open" in value:
            wanted |= NEEDS_A_PERSON
        if "flagged" in value:
            wanted |= ~Q(flag="")
        if "suppressed" in value:
            wanted |= SUPPRESSED
        return rows.filter(wanted)

    def by_assignee(self, rows: QuerySet[Bucket], name: str, value: list[str]) -> QuerySet[Bucket]:
        """User names, "me" or "nobody"."""
        wanted = Q(assignee__username__in=value)
        if "nobody" in value:
            wanted |= Q(assignee=None)
        if "me" in value and self.user:
            wanted |= Q(assignee=self.user)
        return rows.filter(wanted)

    def by_label(self, rows: QuerySet[Bucket], name: str, value: list[str]) -> QuerySet[Bucket]:
        wanted = Q()
        for one in value:
            wanted |= Q(name__iexact=one)
        return rows.filter(Exists(Label.objects.filter(wanted, buckets=OuterRef("pk"))))

    def by_campaign(self, rows: QuerySet[Bucket], name: str, value: list[str]) -> QuerySet[Bucket]:
        members = FindingRecord.objects.filter(bucket=OuterRef("pk"), campaign__uuid__in=value)
        return rows.filter(Exists(members))

    def by_age(self, rows: QuerySet[Bucket], name: str, days: str) -> QuerySet[Bucket]:
        then = timezone.now() - timedelta(days=abs(int(days)))
        return (
            rows.filter(last_seen__lte=then) if int(days) < 0 else rows.filter(last_seen__gt=then)
        )

    def by_found(self, rows: QuerySet[Bucket], name: str, days: str) -> QuerySet[Bucket]:
        return rows.filter(first_seen__gt=timezone.now() - timedelta(days=int(days)))

    def by_facet(self, rows: QuerySet[Bucket], name: str, value: list[str]) -> QuerySet[Bucket]:
        facets = Facet.objects.filter(bucket=OuterRef("pk"), kind=FACETS[name], value__in=value)
        return rows.filter(Exists(facets))


def _uuids(word: str) -> list[UUID]:
    try:
        return [UUID(word)]
    except ValueError:
        return []


def sorted_buckets(rows: QuerySet[Bucket], sort: str) -> QuerySet[Bucket]:
    """By a column of `SORTS`, "-" for the greatest first; an unknown one sorts by impact."""
    wanted = sort if sort.removeprefix("-") in SORTS else DEFAULT_SORT
    first, *rest = SORTS[wanted.removeprefix("-")]
    main = F(first) if isinstance(first, str) else first
    # Databases disagree on where nothing belongs; here it comes last. Said for other columns, it
    # would keep PostgreSQL from using their index.
    last = True if first in _MAY_BE_NOTHING else None
    order = main.desc(nulls_last=last) if wanted.startswith("-") else main.asc(nulls_last=last)
    return rows.order_by(order, *(f"-{column}" for column in rest), "-id")


@dataclass(frozen=True)
class Chip:
    """An active filter and the query string without it."""

    name: str
    text: str
    without: str


def active_chips(
    chosen: BucketFilter, query: QueryDict, *, texts: Mapping[str, str] | None = None
) -> Iterator[Chip]:
    """One chip for each value in the URL that narrows the list.

    `texts`: what to say for values that are not words, such as the ids of campaigns. What needs a
    person is what the inbox shows anyway, and has no chip where it stands alone.
    """
    for name, one in chosen.filters.items():
        values = list(dict.fromkeys(value for value in query.getlist(name) if value))
        if name == "status" and values == ["open"]:
            continue
        choices = dict(getattr(one.field, "choices", ()))
        for value in values:
            text = str((texts or {}).get(value) or choices.get(value, value))
            yield Chip(str(one.label), text, without(query, name, value))


def without(query: QueryDict, name: str, value: str) -> str:
    """The query string with one value of one filter dropped, from its first page.

    It is never empty: an empty one opens a person's default view.
    """
    rest = query.copy()
    rest.setlist(name, [other for other in query.getlist(name) if other != value])
    rest.pop("page", None)
    return rest.urlencode() or "status=open"
