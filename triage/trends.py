"""What was found and judged over time, for charts. Query counts are fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count

from campaigns.period import Period, stored_hour, time_of
from triage.models import Bucket, FindingRecord

__all__ = ["BucketCounts", "buckets_over", "findings_over"]

# A bucket of these still waits for a person; see `triage.filters.NEEDS_A_PERSON`.
_WAITING = (Bucket.Status.NEW, Bucket.Status.NEEDS_WORK, Bucket.Status.CONFIRMED)


def findings_over(period: Period) -> Mapping[datetime | date, Counter[str]]:
    """Findings by symptom of every hour, day or week of a period. One query."""
    found: dict[datetime | date, Counter[str]] = {start: Counter() for start in period.starts()}
    counted = (
        FindingRecord.objects.filter(created_at__gte=period.since, created_at__lt=period.until)
        .annotate(hour=stored_hour("created_at"))
        .order_by()
        .values_list("hour", "symptom")
        .annotate(Count("id"))
    )
    for hour, symptom, count in counted:
        found.setdefault(period.start_of(time_of(hour)), Counter())[symptom] += count
    return found


@dataclass(frozen=True)
class BucketCounts:
    """Buckets up to the end of an hour, day or week: opened ever, and of them settled."""

    opened: int
    settled: int

    @property
    def waiting(self) -> int:
        return self.opened - self.settled


def buckets_over(period: Period) -> Mapping[datetime | date, BucketCounts]:
    """How many buckets there were and how many of them were settled. Two queries.

    A bucket opens when it was first seen and is settled when a person gave it the status it has
    now; one that was settled and is open again counts as open all the time.
    """
    settled = Bucket.objects.exclude(status__in=_WAITING).exclude(status_at=None)
    opened_at = _by_start(Bucket.objects.values_list("first_seen", flat=True), period)
    settled_at = _by_start(settled.values_list("status_at", flat=True), period)
    found: dict[datetime | date, BucketCounts] = {}
    opened, closed = opened_at.pop(None, 0), settled_at.pop(None, 0)
    for start in period.starts():
        opened += opened_at[start]
        closed += settled_at[start]
        found[start] = BucketCounts(opened, closed)
    return found


def _by_start(times: Iterable[datetime | None], period: Period) -> Counter[datetime | date | None]:
    """How many of the times lie in each part of the period; under None those before it."""
    return Counter(
        None if when < period.since else period.start_of(when)
        for when in times
        if when is not None and when < period.until
    )
