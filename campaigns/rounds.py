"""Readers of recorded rounds: one with the way that led to it, and the list of a campaign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import django_filters
from django.db.models import Max, Min, Q, QuerySet

from campaigns.found import Found, findings_reader
from campaigns.models import Campaign, GraphText, Mutant

__all__ = ["RoundFilter", "RoundPage", "round_list", "round_page"]


@dataclass(frozen=True)
class RoundPage:
    """All that the page of a round shows.

    `lineage`: the accepted rounds between the seed and the graph that was mutated, oldest first;
    None where an older version recorded them. `graph`: that graph's text, "" for the seed itself
    or where it was not kept. `before` and `after`: the shard's neighbouring rounds.
    """

    mutant: Mutant
    lineage: tuple[Mutant, ...] | None
    findings: tuple[Found, ...]
    graph: str
    before: int | None
    after: int | None

    @property
    def mutations_before(self) -> int:
        return sum(len(one.labels) for one in self.lineage or ())

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why candidates were refused before this one, the most frequent first."""
        return sorted(self.mutant.rejected.items(), key=lambda pair: (-pair[1], pair[0]))

    @property
    def refused(self) -> int:
        return sum(self.mutant.rejected.values())


def round_page(mutant: Mutant) -> RoundPage:
    """One round. Five queries."""
    shard = mutant.shard
    others = Mutant.objects.filter(shard=shard)
    around = others.aggregate(
        before=Max("round", filter=Q(round__lt=mutant.round)),
        after=Min("round", filter=Q(round__gt=mutant.round)),
        start=Max("round", filter=Q(round__lt=mutant.round, depth=0)),
        unknown=Max("round", filter=Q(round__lt=mutant.round, depth=None)),
    )
    start = -1 if around["start"] is None else around["start"]
    steps = tuple(
        others.filter(accepted=True, round__gt=start, round__lt=mutant.round)
        .select_related("shard")
        .defer("shard__checkpoint")
        .order_by("round")
    )
    is_known = around["unknown"] is None or around["unknown"] < start
    digest = steps[-1].digest if steps else ""
    kept = GraphText.objects.filter(digest=digest).first()
    return RoundPage(
        mutant=mutant,
        lineage=steps if is_known else None,
        findings=tuple(findings_reader().of_round(shard, mutant.round)),
        graph=kept.text if kept and is_known else "",
        before=around["before"],
        after=around["after"],
    )


def round_list(campaign: Campaign) -> QuerySet[Mutant]:
    """Rounds of a campaign, newest first. One query."""
    rows = Mutant.objects.filter(shard__campaign=campaign).select_related("shard")
    return rows.defer("shard__checkpoint").order_by("-created_at", "-id")


class RoundFilter(django_filters.FilterSet):
    """Narrows the rounds of one campaign."""

    q = django_filters.CharFilter(method="by_text", label="Text")
    verdict = django_filters.ChoiceFilter(choices=Mutant.Verdict.choices, label="Verdict")
    seed = django_filters.ChoiceFilter(field_name="shard__seed", label="Seed")
    accepted = django_filters.BooleanFilter(label="Accepted")
    found = django_filters.BooleanFilter(method="by_found", label="With findings")

    class Meta:
        model = Mutant
        fields: list[str] = []

    def __init__(self, *args: Any, campaign: Campaign, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        seeds = dict.fromkeys(campaign.seeds)
        self.filters["seed"].extra["choices"] = [(name, name) for name in seeds]

    def by_text(self, rows: QuerySet[Mutant], name: str, text: str) -> QuerySet[Mutant]:
        """Every word somewhere in the mutations or the reason."""
        for word in text.split():
            rows = rows.filter(
                Q(mutator__icontains=word)
                | Q(variant__icontains=word)
                | Q(further__icontains=word)
                | Q(reason__icontains=word)
            )
        return rows

    def by_found(self, rows: QuerySet[Mutant], name: str, value: bool) -> QuerySet[Mutant]:  # noqa: FBT001 (the library calls it)
        return rows.filter(findings__gt=0) if value else rows.filter(findings=0)
