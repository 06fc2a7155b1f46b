"""What was found and judged over time, for charts. Query counts are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from triage.models import Bucket, FindingRecord

__all__ = ["bucket_times", "finding_times"]

# A bucket of these still waits for a person; see `triage.filters.NEEDS_A_PERSON`.
_WAITING = (Bucket.Status.NEW, Bucket.Status.NEEDS_WORK, Bucket.Status.CONFIRMED)


def finding_times(since: datetime, until: datetime) -> Sequence[tuple[datetime, str]]:
    """When findings were recorded, with their symptom. One query."""
    rows = FindingRecord.objects.filter(created_at__gte=since, created_at__lt=until)
    return list(rows.order_by().values_list("created_at", "symptom"))


def bucket_times() -> tuple[Sequence[datetime], Sequence[datetime]]:
    """When buckets were first seen, and when those that are settled were. Two queries.

    A bucket is settled when a person gave it the status it has now; one that was settled and is
    open again counts as open all the time.
    """
    settled = Bucket.objects.exclude(status__in=_WAITING).exclude(status_at=None).order_by()
    return (
        list(Bucket.objects.order_by().values_list("first_seen", flat=True)),
        [when for when in settled.values_list("status_at", flat=True) if when is not None],
    )
