"""Filters of reports: one set for the table, the board, the exports and the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import django_filters
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import BaseExpression
from django.http import QueryDict

from triage.filters import Chip
from triage.models import PastAddress, Report, Symptom, Tracker

__all__ = ["DEFAULT_SORT", "OPEN", "SORTS", "ReportFilter", "active_chips", "sorted_reports"]

_S = Report.Status
# Neither settled nor set aside: somebody, here or there, has still to do something.
OPEN = tuple(one for one in _S if one not in {_S.FIXED, _S.REJECTED, _S.DUPLICATE})
_STATUS_CHOICES = [("open", "Open"), *_S.choices]
_OBSERVED_CHOICES = [("none", "Not seen yet"), *_S.choices]
_ORDER = Case(*(When(status=value, then=Value(place)) for place, value in enumerate(_S.values)))
SORTS: Mapping[str, str | BaseExpression] = {
    "title": "title",
    "status": _ORDER,
    "tracker": "tracker",
    "activity": "following__last_activity",
    "created": "created_at",
    "changed": "updated_at",
}
DEFAULT_SORT = "-changed"
_MAY_BE_NOTHING = {"following__last_activity"}


class ReportFilter(django_filters.FilterSet):
    """Every filter narrows, one given twice widens itself."""

    q = django_filters.CharFilter(
        method="by_text", label="Text", help_text="Words of the title, a label or an address."
    )
    status = django_filters.MultipleChoiceFilter(
        choices=_STATUS_CHOICES, method="by_status", label="Status"
    )
    observed = django_filters.MultipleChoiceFilter(
        choices=_OBSERVED_CHOICES, method="by_observed", label="Upstream"
    )
    tracker = django_filters.MultipleChoiceFilter(
        choices=Tracker.choices, label="Tracker", distinct=False
    )
    symptom = django_filters.MultipleChoiceFilter(
        field_name="bucket__symptom", choices=Symptom.choices, label="Symptom", distinct=False
    )
    proposed = django_filters.BooleanFilter(
        method="by_proposed", label="A status is proposed", help_text="true or false"
    )

    class Meta:
        model = Report
        fields: list[str] = []

    def by_text(self, rows: QuerySet[Report], name: str, text: str) -> QuerySet[Report]:
        """Every word somewhere."""
        for word in text.split():
            rows = rows.filter(
                Q(title__icontains=word)
                | Q(upstream_url__icontains=word)
                | Q(bucket__title__icontains=word)
                | Q(following__labels__icontains=word)
                | Exists(PastAddress.objects.filter(report=OuterRef("pk"), address__icontains=word))
            )
        return rows

    def by_status(self, rows: QuerySet[Report], name: str, value: list[str]) -> QuerySet[Report]:
        wanted = [one for one in value if one != "open"]
        return rows.filter(status__in=[*wanted, *(OPEN if "open" in value else ())])

    def by_observed(self, rows: QuerySet[Report], name: str, value: list[str]) -> QuerySet[Report]:
        wanted = Q(following__observed__in=[one for one in value if one != "none"])
        if "none" in value:
            wanted |= Q(following=None) | Q(following__observed="")
        return rows.filter(wanted)

    def by_proposed(self, rows: QuerySet[Report], name: str, value: object) -> QuerySet[Report]:
        return rows.exclude(proposed="") if value else rows.filter(proposed="")


def sorted_reports(rows: QuerySet[Report], sort: str) -> QuerySet[Report]:
    """By a column of `SORTS`, "-" for the greatest first; an unknown one sorts by change."""
    wanted = sort if sort.removeprefix("-") in SORTS else DEFAULT_SORT
    first = SORTS[wanted.removeprefix("-")]
    column = F(first) if isinstance(first, str) else first
    last = True if first in _MAY_BE_NOTHING else None
    order = column.desc(nulls_last=last) if wanted.startswith("-") else column.asc(nulls_last=last)
    return rows.order_by(order, "-id")


def active_chips(chosen: ReportFilter, query: QueryDict) -> Iterator[Chip]:
    """One for each value in the URL that narrows the list."""
    for name, one in chosen.filters.items():
        choices = dict(getattr(one.field, "choices", ()))
        for value in dict.fromkeys(value for value in query.getlist(name) if value):
            rest = query.copy()
            rest.setlist(name, [other for other in query.getlist(name) if other != value])
            rest.pop("page", None)
            yield Chip(str(one.label), str(choices.get(value, value)), rest.urlencode())
