"""Readers for the page of one bucket; query counts are fixed."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone

from campaigns.models import HEARTBEAT_STALE, Environment, WorkerHeartbeat
from triage.alike import Similar, family_buckets, similar_buckets
from triage.history import Line, bucket_history
from triage.members import Difference, MembersPage, differing_parts, members_page
from triage.models import (
    Bucket,
    FindingRecord,
    GroupingRule,
    Label,
    Note,
    Report,
    Rerun,
    Suppression,
)

__all__ = [
    "HISTORY_SHOWN",
    "BucketPage",
    "RerunPanel",
    "best_finding",
    "bucket_page",
    "environments_of",
    "rerun_panel",
]

_RERUNS_SHOWN = 8
HISTORY_SHOWN = 60


def best_finding(bucket: Bucket) -> FindingRecord | None:
    """The member to show first: smallest, then most often reproduced, then newest."""
    return (
        bucket.findings.select_related("campaign", "shard", "submission")
        .order_by("minimised_nodes", "-reproduced", "-created_at", "-id")
        .first()
    )


@dataclass(frozen=True)
class BucketPage:
    """All that a bucket's page shows, besides the picture."""

    bucket: Bucket
    record: FindingRecord | None
    members: MembersPage
    differing: tuple[Difference, ...]
    rule: GroupingRule | None
    notes: tuple[Note, ...]
    history: tuple[Line, ...]
    has_more_history: bool
    reports: tuple[Report, ...]
    labels: tuple[Label, ...]
    similar: tuple[Similar, ...]
    family: tuple[Bucket, ...]
    limit: Suppression | None


def bucket_page(
    bucket: Bucket,
    record: FindingRecord | None = None,
    *,
    members: str | None = None,
    whole_history: bool = False,
) -> BucketPage:
    """A bucket with one member chosen and a page of its members. Its number of queries is tested.

    `limit`: the suppression that the bucket made and that nobody lifted, expired or not.
    """
    shown = members_page(bucket, members)
    history = bucket_history(bucket, most=None if whole_history else HISTORY_SHOWN + 1)
    return BucketPage(
        bucket=bucket,
        record=record or best_finding(bucket),
        members=shown,
        differing=tuple(differing_parts(bucket)),
        rule=bucket.rules.filter(active=True).first(),
        notes=tuple(bucket.notes.filter(deleted_in=None).select_related("author")),
        history=history if whole_history else history[:HISTORY_SHOWN],
        has_more_history=not whole_history and len(history) > HISTORY_SHOWN,
        reports=tuple(bucket.reports.select_related("following")),
        labels=tuple(bucket.labels.all()),
        similar=similar_buckets(bucket),
        family=family_buckets(bucket),
        limit=bucket.own_suppressions.filter(lifted_at=None).last(),
    )


@dataclass(frozen=True)
class RerunPanel:
    """Reruns of a finding, newest first. `has_worker`: whether any worker was heard of lately."""

    reruns: tuple[Rerun, ...]
    has_worker: bool

    @property
    def is_live(self) -> bool:
        return any(one.is_open for one in self.reruns)

    @property
    def latest(self) -> Rerun | None:
        """The newest that said something."""
        done = Rerun.State.DONE, Rerun.State.FAILED
        return next((one for one in self.reruns if one.state in done), None)


def rerun_panel(record: FindingRecord) -> RerunPanel:
    """What the panel shows. Two queries."""
    shown = record.reruns.select_related("asked_by", "environment")[:_RERUNS_SHOWN]
    alive = WorkerHeartbeat.objects.filter(last_seen__gt=timezone.now() - HEARTBEAT_STALE)
    return RerunPanel(tuple(shown), alive.exists())


def environments_of(framework: str) -> QuerySet[Environment]:
    """Interpreters that run a framework."""
    return Environment.objects.filter(framework=framework)
