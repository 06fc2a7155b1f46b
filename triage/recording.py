"""Writer of findings: what the engine confirmed becomes a row in the bucket of its signature."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from campaigns.models import Shard
from engine.finding import Finding
from triage.impact import impact_points
from triage.models import (
    SIGNATURE_VERSION,
    Bucket,
    BucketEvent,
    Facet,
    FindingRecord,
    text_digest,
)

__all__ = ["facets_of", "raise_flag", "record_finding"]

_TITLE_LENGTH = 300
_LINE_LENGTH = 500
_FACET_LENGTH = 120
# A person said that these need no more work: seeing the failure again is news.
_SETTLED = (Bucket.Status.FIXED, Bucket.Status.FALSE_ALARM)


@transaction.atomic
def record_finding(
    finding: Finding, *, shard: Shard, now: datetime | None = None
) -> tuple[FindingRecord, bool]:
    """The finding's row, and whether it is new: the same one may be delivered twice.

    A new signature opens a bucket. A known one counts the finding, and raises a flag where a person
    had settled the bucket; the person's status stays.
    """
    now = now or timezone.now()
    key_digest = text_digest(finding.key)
    known = FindingRecord.objects.filter(
        shard=shard, round=finding.round, key_digest=key_digest
    ).first()
    if known is not None:
        return known, False
    bucket, opened = _bucket_of(finding, now)
    record = FindingRecord.objects.create(
        bucket=bucket,
        campaign_id=shard.campaign_id,
        shard=shard,
        round=finding.round,
        key=finding.key,
        key_digest=key_digest,
        symptom=finding.symptom.value,
        framework=finding.accused_framework,
        op=finding.accused_op[:_FACET_LENGTH],
        title=finding.title[:_TITLE_LENGTH],
        seed=finding.seed,
        mutator=finding.mutator,
        minimised_nodes=finding.minimised_nodes,
        original_nodes=finding.original_nodes,
        reproduced=finding.reproduction.reproduced,
        attempts=finding.reproduction.attempts,
        data=finding.to_json(),
        created_at=now,
    )
    _count_member(bucket, finding, now)
    Facet.objects.bulk_create(
        (Facet(bucket=bucket, kind=kind, value=value) for kind, value in facets_of(finding)),
        ignore_conflicts=True,
    )
    if not opened and bucket.status in _SETTLED:
        raise_flag(
            bucket,
            flag=Bucket.Flag.SEEN_AGAIN,
            why=f"Found again by {shard.campaign.name}, round {finding.round}.",
            now=now,
        )
    return record, True


def raise_flag(
    bucket: Bucket, *, flag: Bucket.Flag, why: str, now: datetime | None = None
) -> Bucket:
    """Ask a person to look again. Only the flag changes."""
    now = now or timezone.now()
    before = bucket.get_flag_display() if bucket.flag else ""
    bucket.flag, bucket.flag_reason, bucket.flag_at = flag, why[:_LINE_LENGTH], now
    bucket.save(update_fields=["flag", "flag_reason", "flag_at"])
    BucketEvent.objects.create(
        bucket=bucket,
        kind=BucketEvent.Kind.FLAG,
        before=before,
        after=flag.label,
        why=bucket.flag_reason,
        created_at=now,
    )
    return bucket


def facets_of(finding: Finding) -> set[tuple[str, str]]:
    """(kind, value) pairs by which the inbox finds it.

    A mutant of several mutations is found by each. Operators, forms and dtypes are those of the
    minimised program, from the parts of the signature: `calls` is "op.form > op", `dtypes` is
    "float32, integer".
    """
    pairs: set[tuple[str, str]] = {(Facet.Kind.MODE, mode) for mode in finding.accused_modes}
    pairs |= {(Facet.Kind.MUTATOR, one) for one in finding.mutator.split(" + ")}
    pairs.add((Facet.Kind.SEED, finding.seed))
    pairs.add((Facet.Kind.OP, finding.accused_op))
    for call in finding.parts.get("calls", "").split(" > "):
        op, _, form = call.partition(".")
        pairs |= {(Facet.Kind.OP, op), (Facet.Kind.FORM, form)}
    pairs |= {(Facet.Kind.DTYPE, one) for one in finding.parts.get("dtypes", "").split(", ")}
    return {(kind, value[:_FACET_LENGTH]) for kind, value in pairs if value}


def _bucket_of(finding: Finding, now: datetime) -> tuple[Bucket, bool]:
    bucket, opened = Bucket.objects.select_for_update().get_or_create(
        signature_digest=text_digest(finding.signature),
        signature_version=SIGNATURE_VERSION,
        defaults={
            "signature": finding.signature,
            "title": finding.title[:_TITLE_LENGTH],
            "verdict": finding.verdict,
            "symptom": finding.symptom.value,
            "framework": finding.accused_framework,
            "op": finding.accused_op[:_FACET_LENGTH],
            "minimised_nodes": finding.minimised_nodes,
            "first_seen": now,
            "last_seen": now,
        },
    )
    if opened:
        BucketEvent.objects.create(
            bucket=bucket,
            kind=BucketEvent.Kind.CREATED,
            after=bucket.get_status_display(),
            why="First finding with this signature.",
            created_at=now,
        )
    return bucket, opened


def _count_member(bucket: Bucket, finding: Finding, now: datetime) -> None:
    """Count a member; the smallest one gives the bucket its title and its verdict."""
    changes: dict[str, object] = {"count": F("count") + 1, "last_seen": max(now, bucket.last_seen)}
    changes["first_seen"] = min(now, bucket.first_seen)
    if bucket.count == 0 or finding.minimised_nodes < bucket.minimised_nodes:
        changes |= {
            "title": finding.title[:_TITLE_LENGTH],
            "verdict": finding.verdict,
            "minimised_nodes": finding.minimised_nodes,
        }
    points = impact_points(finding)
    total = sum(point.points for point in points)
    if bucket.count == 0 or total > bucket.impact:
        changes |= {
            "impact": total,
            "impact_points": [[point.points, point.reason] for point in points],
        }
    changes["reproduced"] = F("reproduced") + finding.reproduction.reproduced
    changes["attempts"] = F("attempts") + finding.reproduction.attempts
    Bucket.objects.filter(pk=bucket.pk).update(**changes)
    bucket.refresh_from_db()
