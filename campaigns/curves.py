"""Curves of a campaign: cumulative counts over time, and means by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Avg, Case, Count, F, FloatField, Q, Sum, Value, When
from django.db.models.functions import Coalesce, Floor, TruncDay, TruncHour, TruncMinute
from django.utils import timezone

from campaigns.models import Campaign, Mutant

__all__ = ["OverRounds", "OverTime", "over_rounds", "over_time"]

_BINS = 40
# Fewer rounds make a share that jumps between nothing and all.
_LEAST_ROUNDS = 5


@dataclass(frozen=True)
class OverTime:
    """Counts of everything up to and including `when`."""

    when: datetime
    rounds: int
    accepted: int
    failing: int
    found: int


@dataclass(frozen=True)
class OverRounds:
    """Rounds `first` and a few after it, of all shards.

    `accepted`: their share, from 0 to 1. `reward`: their mean. `rounds`, `found` and `seconds`:
    of everything up to here.
    """

    first: int
    accepted: float
    reward: float
    rounds: int
    found: int
    seconds: float


def over_time(campaign: Campaign, *, now: datetime | None = None) -> tuple[OverTime, ...]:
    """By minute, hour or day: as fine as a chart can show. One query."""
    end = campaign.finished_at or now or timezone.now()
    span = end - (campaign.started_at or campaign.created_at)
    by = TruncMinute if span < timedelta(hours=6) else TruncHour if span.days < 14 else TruncDay
    counted = (
        Mutant.objects.filter(shard__campaign=campaign)
        .annotate(when=by("created_at"))
        .order_by("when")
        .values("when")
        .annotate(
            rounds=Count("id"),
            took=Count("id", filter=Q(accepted=True)),
            failing=Count("id", filter=Q(verdict=Mutant.Verdict.FAIL)),
            found=Coalesce(Sum("findings"), 0),
        )
        .values_list("when", "rounds", "took", "failing", "found")
    )
    rows = []
    total = (0, 0, 0, 0)
    for when, *counts in counted:
        total = _sum(total, counts)
        rows.append(OverTime(when, *total))
    return tuple(rows)


def _sum(total: tuple[int, int, int, int], more: Sequence[int]) -> tuple[int, int, int, int]:
    rounds, accepted, failing, found = (a + b for a, b in zip(total, more, strict=True))
    return rounds, accepted, failing, found


def over_rounds(campaign: Campaign, *, rounds: int) -> tuple[OverRounds, ...]:
    """At most forty points; `rounds`: how far the furthest shard is. One query."""
    size = max(_LEAST_ROUNDS, -(-rounds // _BINS))
    counted = (
        Mutant.objects.filter(shard__campaign=campaign)
        .annotate(place=Floor(F("round") / Value(float(size), output_field=FloatField())))
        .order_by("place")
        .values("place")
        .annotate(
            share=Avg(Case(When(accepted=True, then=1.0), default=0.0, output_field=FloatField())),
            mean=Avg("reward"),
            rounds=Count("id"),
            found=Coalesce(Sum("findings"), 0),
            spent=Sum("seconds"),
        )
        .values_list("place", "share", "mean", "rounds", "found", "spent")
    )
    rows, count, found, seconds = [], 0, 0, 0.0
    for place, accepted, reward, more, fresh, took in counted:
        count, found, seconds = count + more, found + fresh, seconds + took
        rows.append(OverRounds(int(place) * size, accepted, reward, count, found, seconds))
    return tuple(rows)
