"""Readers for the pages that change grouping; query counts are fixed."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, F, Max, Q, QuerySet

from triage.models import Bucket, FindingRecord, Suppression

__all__ = ["buckets_caught", "merge_rows", "suppression_rows"]


def merge_rows(buckets: Sequence[Bucket]) -> list[Bucket]:
    """Buckets in the order given, with the counts of what a merge takes along. Two queries."""
    counted = (
        Bucket.objects.filter(pk__in=[bucket.pk for bucket in buckets])
        .select_related("assignee")
        .prefetch_related("labels")
        .annotate(
            notes_count=Count("notes", filter=Q(notes__deleted_in=None), distinct=True),
            reports_count=Count("reports", distinct=True),
        )
    )
    found = {bucket.pk: bucket for bucket in counted}
    return [found[bucket.pk] for bucket in buckets if bucket.pk in found]


def suppression_rows() -> list[Suppression]:
    """Suppressions, the next to end first, with what each caught. One query.

    `caught`: findings since it began; `held`: buckets that it keeps quiet now.
    """
    since = Q(findings__created_at__gt=F("created_at"))
    return list(
        Suppression.objects.select_related("bucket", "created_by").annotate(
            caught=Count("findings", filter=since, distinct=True),
            covers=Count("findings", distinct=True),
            held=Count("buckets", distinct=True),
            last_caught=Max("findings__created_at", filter=since),
        )
    )


def buckets_caught(
    records: QuerySet[FindingRecord], *, besides: Bucket
) -> list[tuple[Bucket, int]]:
    """Other buckets of these findings, with how many of them are in each. Two queries."""
    counts = dict(
        records.exclude(bucket=besides).order_by().values_list("bucket").annotate(Count("id"))
    )
    found = Bucket.with_merged.in_bulk(counts)
    return sorted(((found[pk], count) for pk, count in counts.items()), key=lambda row: -row[1])
