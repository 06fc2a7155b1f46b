"""What campaigns did over time, for charts. Each reader makes one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import CharField, Count, Min, Q, Sum
from django.db.models.functions import Cast, Substr

from campaigns.models import Campaign, Mutant

__all__ = ["RoundCounts", "first_campaign_at", "rounds_by_ten_minutes"]


@dataclass(frozen=True)
class RoundCounts:
    """Rounds of some time; `seconds` is machine time spent in them."""

    rounds: int = 0
    accepted: int = 0
    failing: int = 0
    seconds: float = 0.0

    def __add__(self, other: RoundCounts) -> RoundCounts:
        return RoundCounts(
            self.rounds + other.rounds,
            self.accepted + other.accepted,
            self.failing + other.failing,
            self.seconds + other.seconds,
        )

    def per_hour(self, count: int) -> float | None:
        """How many of `count` in an hour of machine time; None where none was spent."""
        return count / self.seconds * 3600 if self.seconds else None

    def share(self, count: int) -> float | None:
        """Per cent of the rounds; None where there was none."""
        return 100 * count / self.rounds if self.rounds else None


def first_campaign_at() -> datetime | None:
    """When the first campaign was made; None before."""
    first: datetime | None = Campaign.objects.aggregate(first=Min("created_at"))["first"]
    return first


def rounds_by_ten_minutes(since: datetime, until: datetime) -> Mapping[datetime, RoundCounts]:
    """Counts of every ten minutes of UTC in which a round was recorded.

    They are how the stored text of a time begins. For SQLite that is ten times as fast as
    truncating times (60 ms for 100,000 rounds), which a function of Python does there.
    """
    counted = (
        Mutant.objects.filter(created_at__gte=since, created_at__lt=until)
        .annotate(part=Substr(Cast("created_at", CharField()), 1, 15))
        .order_by()
        .values_list("part")
        .annotate(
            rounds=Count("id"),
            took=Count("id", filter=Q(accepted=True)),
            failing=Count("id", filter=Q(verdict=Mutant.Verdict.FAIL)),
            spent=Sum("seconds"),
        )
    )
    return {
        datetime.strptime(f"{part}0", "%Y-%m-%d %H:%M").replace(tzinfo=UTC): RoundCounts(*counts)
        for part, *counts in counted
    }
