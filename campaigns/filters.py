"""Filters and sorts of the list of campaigns: one set for the page and the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import django_filters
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import QueryDict

from campaigns.choices import policy_names, seed_names
from campaigns.models import Campaign, Shard

__all__ = ["SORTS", "CampaignFilter", "Chip", "active_chips", "sorted_campaigns"]

_LIVE = (Campaign.Status.PENDING, Campaign.Status.RUNNING)
# Column in the URL -> columns of the database; ties are broken by the newest first.
SORTS: Mapping[str, str] = {
    "name": "name",
    "status": "status",
    "progress": "share",
    "accepted": "accepted",
    "found": "found",
    "speed": "pace",
    "started": "began",
}
_DEFAULT_SORT = "-started"


class CampaignFilter(django_filters.FilterSet):
    """Every filter narrows; a status given twice widens itself."""

    q = django_filters.CharFilter(method="by_text", label="Text")
    status = django_filters.MultipleChoiceFilter(
        choices=[("live", "Live"), *Campaign.Status.choices], method="by_status", label="Status"
    )
    seed = django_filters.ChoiceFilter(method="by_seed", label="Seed")
    policy = django_filters.ChoiceFilter(label="Policy")
    preset = django_filters.ChoiceFilter(choices=Campaign.Preset.choices, label="Preset")

    class Meta:
        model = Campaign
        fields: list[str] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.filters["seed"].extra["choices"] = [(name, name) for name in seed_names()]
        self.filters["policy"].extra["choices"] = [(name, name) for name in policy_names()]

    def by_text(self, rows: QuerySet[Campaign], name: str, text: str) -> QuerySet[Campaign]:
        """Every word somewhere in the name, the problem, the operators or who started it."""
        for word in text.split():
            rows = rows.filter(
                Q(name__icontains=word)
                | Q(problem__icontains=word)
                | Q(ops__icontains=word)
                | Q(created_by__username__icontains=word)
            )
        return rows

    def by_status(
        self, rows: QuerySet[Campaign], name: str, values: list[str]
    ) -> QuerySet[Campaign]:
        wanted = set(values)
        if "live" in wanted:
            wanted |= set(_LIVE)
        return rows.filter(status__in=wanted)

    def by_seed(self, rows: QuerySet[Campaign], name: str, value: str) -> QuerySet[Campaign]:
        return rows.filter(Exists(Shard.objects.filter(campaign=OuterRef("pk"), seed=value)))


def sorted_campaigns(rows: QuerySet[Campaign], sort: str) -> QuerySet[Campaign]:
    """By a column of `SORTS`, "-" for the greatest first; an unknown one sorts by the start."""
    wanted = sort if sort.removeprefix("-") in SORTS else _DEFAULT_SORT
    column = F(SORTS[wanted.removeprefix("-")])
    first = column.desc(nulls_last=True) if wanted.startswith("-") else column.asc(nulls_last=True)
    return rows.order_by(first, "-created_at", "-id")


@dataclass(frozen=True)
class Chip:
    """An active filter and the query string without it."""

    name: str
    text: str
    without: str


def active_chips(chosen: CampaignFilter, query: QueryDict) -> Iterator[Chip]:
    """One chip for each value in the URL that narrows the list."""
    for name, one in chosen.filters.items():
        texts = {str(value): str(text) for value, text in getattr(one.field, "choices", ())}
        for value in query.getlist(name):
            if not value:
                continue
            rest = query.copy()
            rest.setlist(name, [other for other in query.getlist(name) if other != value])
            rest.pop("page", None)
            yield Chip(str(one.label), texts.get(value, value), rest.urlencode())
