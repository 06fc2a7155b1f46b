"""Readers for the page of one bucket; query counts are fixed."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from campaigns.models import HEARTBEAT_STALE, Environment, WorkerHeartbeat
from triage.models import Bucket, BucketEvent, Facet, FindingRecord, Label, Note, Report, Rerun

__all__ = [
    "BucketPage",
    "RerunPanel",
    "best_finding",
    "bucket_page",
    "environments_of",
    "rerun_panel",
    "similar_buckets",
]

_MEMBERS_SHOWN = 50
_SIMILAR_SHOWN = 5
_RERUNS_SHOWN = 8


def best_finding(bucket: Bucket) -> FindingRecord | None:
    """The member to show first: smallest, then most often reproduced, then newest."""
    return (
        bucket.findings.select_related("campaign", "shard")
        .order_by("minimised_nodes", "-reproduced", "-created_at", "-id")
        .first()
    )


@dataclass(frozen=True)
class BucketPage:
    """All that a bucket's page shows, besides the picture."""

    bucket: Bucket
    record: FindingRecord | None
    members: tuple[FindingRecord, ...]
    notes: tuple[Note, ...]
    events: tuple[BucketEvent, ...]
    reports: tuple[Report, ...]
    labels: tuple[Label, ...]
    similar: tuple[tuple[Bucket, int], ...]


def bucket_page(bucket: Bucket, record: FindingRecord | None = None) -> BucketPage:
    """A bucket with one member chosen. Seven queries, eight without a chosen member."""
    members = (
        bucket.findings.select_related("campaign")
        .defer("data")
        .order_by("minimised_nodes", "-created_at", "-id")[:_MEMBERS_SHOWN]
    )
    return BucketPage(
        bucket=bucket,
        record=record or best_finding(bucket),
        members=tuple(members),
        notes=tuple(bucket.notes.filter(deleted_in=None).select_related("author")),
        events=tuple(bucket.events.select_related("who").order_by("-created_at", "-id")),
        reports=tuple(bucket.reports.all()),
        labels=tuple(bucket.labels.all()),
        similar=similar_buckets(bucket),
    )


def similar_buckets(bucket: Bucket) -> tuple[tuple[Bucket, int], ...]:
    """Others that share operators, modes and dtypes, with how many facets. Two queries."""
    mine = Q()
    for kind, value in bucket.facets.exclude(kind__in=_WEAK_KINDS).values_list("kind", "value"):
        mine |= Q(facets__kind=kind, facets__value=value)
    if not mine:
        return ()
    ranked = (
        Bucket.objects.filter(mine, symptom=bucket.symptom, framework=bucket.framework)
        .exclude(pk=bucket.pk)
        .annotate(shared=Count("facets", distinct=True))
        .order_by("-shared", "-impact", "-id")[:_SIMILAR_SHOWN]
    )
    return tuple((one, one.shared) for one in ranked)


_WEAK_KINDS = (Facet.Kind.SEED, Facet.Kind.MUTATOR, Facet.Kind.DTYPE)


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
    """Interpreters that have a framework: the first word of an environment's name is the one."""
    own = Q(name=framework)
    return Environment.objects.filter(own | Q(name__startswith=f"{framework} "))
