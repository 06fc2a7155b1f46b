"""What in the machinery of campaigns runs, or waits for a person. At most two queries each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from campaigns.models import HEARTBEAT_STALE, Campaign, Environment, WorkerHeartbeat
from campaigns.selectors import campaign_list

__all__ = [
    "LiveCampaign",
    "halted_campaigns",
    "live_campaigns",
    "silent_workers",
    "unusable_environments",
]

# A worker that left in good order takes its row away; one that died long ago is no news.
_FORGOTTEN = timedelta(days=1)
_FAILED_SHOWN = timedelta(days=7)


@dataclass(frozen=True)
class LiveCampaign:
    """One that runs, or waits for a worker; `per_cent` of what was asked for is done."""

    campaign: Campaign
    done: int
    found: int
    per_cent: int


def live_campaigns() -> list[LiveCampaign]:
    """Campaigns that run or wait for a worker, newest first."""
    live = [Campaign.Status.PENDING, Campaign.Status.RUNNING]
    rows = (
        campaign_list()
        .filter(status__in=live)
        .annotate(spent=Coalesce(Sum("shards__seconds"), 0.0))
        .values_list("pk", "done", "found", "spent")
    )
    counted = {pk: (done, found, spent) for pk, done, found, spent in rows}
    return [
        LiveCampaign(one, done, found, _per_cent(one, done, spent))
        for one in Campaign.objects.filter(pk__in=counted)
        for done, found, spent in (counted[one.pk],)
    ]


def _per_cent(campaign: Campaign, rounds: int, seconds: float) -> int:
    return round(100 * campaign.share_done(rounds, seconds, shards=len(campaign.seeds)))


def halted_campaigns(*, now: datetime | None = None) -> list[Campaign]:
    """Campaigns that are paused, and those that failed in the last week, newest first."""
    now = now or timezone.now()
    halted = Campaign.objects.filter(
        status__in=[Campaign.Status.PAUSED, Campaign.Status.FAILED]
    ).order_by("-created_at")
    return [
        one
        for one in halted
        if one.status == Campaign.Status.PAUSED
        or now - (one.finished_at or one.created_at) < _FAILED_SHOWN
    ]


def silent_workers(*, now: datetime | None = None) -> list[WorkerHeartbeat]:
    """Workers that were heard of in the last day, and not in the last half minute."""
    now = now or timezone.now()
    return list(
        WorkerHeartbeat.objects.filter(
            last_seen__lte=now - HEARTBEAT_STALE, last_seen__gt=now - _FORGOTTEN
        ).select_related("shard__campaign")
    )


def unusable_environments() -> list[Environment]:
    """Environments that were asked and cannot run cases."""
    return list(Environment.objects.filter(healthy=False, last_probe__isnull=False))
