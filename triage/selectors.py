"""Readers of what was found, for pages, exports and the API; query counts are fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDay
from django.utils import timezone

from campaigns.models import Campaign
from triage.filters import NEEDS_A_PERSON
from triage.models import (
    Bucket,
    FindingRecord,
    Report,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "buckets_for_lists",
    "navigation_counts",
    "recorded_coarse_keys",
    "report_list",
    "sparklines",
    "team",
]

SPARK_DAYS = 14


def recorded_coarse_keys(campaign: Campaign) -> list[str]:
    """Coarse keys of the findings of a campaign, by which its shards know duplicates."""
    found = FindingRecord.objects.filter(campaign=campaign).values_list("coarse", flat=True)
    return [key for keys in found for key in dict.fromkeys(keys.splitlines())]


def navigation_counts() -> dict[str, int]:
    """What waits in each part. Three queries."""
    live = [Campaign.Status.PENDING, Campaign.Status.RUNNING]
    return {
        "inbox": Bucket.objects.filter(NEEDS_A_PERSON).count(),
        "running": Campaign.objects.filter(status__in=live).count(),
        "drafts": Report.objects.filter(status=Report.Status.DRAFT).count(),
    }


def buckets_for_lists() -> QuerySet[Bucket]:
    """Buckets with what a row shows of them; two queries once read."""
    return Bucket.objects.select_related("assignee", "suppression").prefetch_related("labels")


def team() -> QuerySet[User]:
    """People to whom a bucket can be given."""
    return get_user_model().objects.filter(is_active=True).order_by("username")


def sparklines(
    buckets: Sequence[Bucket], *, now: datetime | None = None
) -> Mapping[int, tuple[int, ...]]:
    """Findings of each of the last fourteen days, oldest first, by bucket. One query."""
    today = timezone.localtime(now or timezone.now()).date()
    start = today - timedelta(days=SPARK_DAYS - 1)
    days: dict[int, list[int]] = {bucket.pk: [0] * SPARK_DAYS for bucket in buckets}
    counted = (
        FindingRecord.objects.filter(bucket__in=days, created_at__date__gte=start)
        .annotate(day=TruncDay("created_at"))
        .order_by()
        .values_list("bucket", "day")
        .annotate(Count("id"))
    )
    for bucket, day, count in counted:
        at = (timezone.localtime(day).date() - start).days
        if 0 <= at < SPARK_DAYS:
            days[bucket][at] = count
    return {bucket: tuple(counts) for bucket, counts in days.items()}


def report_list() -> QuerySet[Report]:
    """Reports, newest change first. One query."""
    return Report.objects.select_related("bucket", "created_by", "following")
