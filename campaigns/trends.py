"""What campaigns did over time, for charts. Each reader makes one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count, Min, Q, Sum

from campaigns.models import Campaign, Mutant
from campaigns.period import Period, stored_hour, time_of

__all__ = ["RoundCounts", "first_campaign_at", "rounds_over"]


@dataclass
class RoundCounts:
    """Rounds of one hour, day or week; `seconds` is machine time spent in them."""

    rounds: int = 0
    accepted: int = 0
    failing: int = 0
    seconds: float = 0.0

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


def rounds_over(period: Period) -> Mapping[datetime | date, RoundCounts]:
    """Counts of every hour, day or week of a period, empty ones too."""
    found = {start: RoundCounts() for start in period.starts()}
    counted = (
        Mutant.objects.filter(created_at__gte=period.since, created_at__lt=period.until)
        .annotate(hour=stored_hour("created_at"))
        .order_by()
        .values_list("hour")
        .annotate(
            rounds=Count("id"),
            took=Count("id", filter=Q(accepted=True)),
            failing=Count("id", filter=Q(verdict=Mutant.Verdict.FAIL)),
            spent=Sum("seconds"),
        )
    )
    for hour, rounds, accepted, failing, seconds in counted:
        one = found.setdefault(period.start_of(time_of(hour)), RoundCounts())
        one.rounds += rounds
        one.accepted += accepted
        one.failing += failing
        one.seconds += seconds
    return found
