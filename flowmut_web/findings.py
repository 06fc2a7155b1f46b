"""What pages of campaigns show of findings; campaigns and triage meet here (`campaigns.found`)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, Q

from campaigns.found import Found, FoundBucket, Shared
from campaigns.models import Campaign, Shard
from triage.models import Bucket, FindingRecord

__all__ = ["FindingsOfCampaigns"]


class FindingsOfCampaigns:
    """The reader that `settings.FINDINGS_READER` names. Each method makes one query."""

    def newest(self, campaign: Campaign, *, limit: int) -> Sequence[Found]:
        """Newest findings of a campaign."""
        rows = FindingRecord.objects.filter(campaign=campaign).order_by("-created_at", "-id")
        return [_found(one) for one in rows.select_related("bucket").defer("data")[:limit]]

    def of_round(self, shard: Shard, number: int) -> Sequence[Found]:
        """Findings of one round."""
        rows = FindingRecord.objects.filter(shard=shard, round=number).order_by("id")
        return [_found(one) for one in rows.select_related("bucket").defer("data")]

    def shared(self, first: Campaign, second: Campaign) -> Shared:
        """Buckets that one or both met, with how often."""
        rows = (
            Bucket.objects.filter(findings__campaign__in=[first, second])
            .annotate(
                first_count=Count("findings", filter=Q(findings__campaign=first)),
                second_count=Count("findings", filter=Q(findings__campaign=second)),
            )
            .order_by("-impact", "-id")
        )
        found = [_bucket(one, one.first_count, one.second_count) for one in rows]
        return Shared(
            only_first=tuple(one for one in found if not one.second_count),
            only_second=tuple(one for one in found if not one.first_count),
            both=tuple(one for one in found if one.first_count and one.second_count),
        )


def _found(record: FindingRecord) -> Found:
    return Found(
        title=record.title,
        url=record.get_absolute_url(),
        symptom=record.symptom,
        seed=record.seed,
        round=record.round,
        when=record.created_at,
        bucket=_bucket(record.bucket),
    )


def _bucket(bucket: Bucket, first: int = 0, second: int = 0) -> FoundBucket:
    return FoundBucket(
        title=bucket.title,
        url=bucket.get_absolute_url(),
        symptom=bucket.symptom,
        status=bucket.status,
        status_text=bucket.get_status_display(),
        first_count=first,
        second_count=second,
    )
