"""Writer of findings: what the engine confirmed becomes a row in the bucket where it belongs."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from campaigns.models import Shard
from engine.finding import SIGNATURE_VERSION, Finding
from triage.counting import count_member
from triage.events import raise_flag, write_event
from triage.impact import impact_points
from triage.models import (
    Bucket,
    BucketEvent,
    FindingRecord,
    GroupingRule,
    Submission,
    text_digest,
)
from triage.routing import active_rules, best_rule, resolved
from triage.suppressing import caught_by, hold

__all__ = ["raise_flag", "record_finding"]

_TITLE_LENGTH = 300
_OP_LENGTH = 120
# A person said that these need no more work: seeing the failure again is news. A known limit is one
# of them when its suppression is over.
_SETTLED = (Bucket.Status.FIXED, Bucket.Status.FALSE_ALARM, Bucket.Status.KNOWN_LIMIT)


@transaction.atomic
def record_finding(
    finding: Finding,
    *,
    shard: Shard | None = None,
    submission: Submission | None = None,
    adopted: str = "",
    now: datetime | None = None,
) -> tuple[FindingRecord, bool]:
    """The finding's row, and whether it is new: the same one may be delivered twice.

    `shard`, `submission` or `adopted`: what made it, one of the three.

    It goes where a rule says, else to the bucket of its signature or what that was merged into. A
    new signature opens a bucket. A known one counts the finding, and raises a flag where a person
    had settled the bucket; the person's status stays. What a suppression matches asks nobody.
    """
    now = now or timezone.now()
    key_digest = text_digest(finding.key)
    source: dict[str, object] = {"submission": submission}
    if shard is not None:
        source = {"shard": shard, "round": finding.round, "key_digest": key_digest}
    elif adopted:
        source = {"adopted": adopted}
    known = FindingRecord.objects.filter(**source).first()
    if known is not None:
        return known, False
    bucket, rule, opened = _bucket_of(finding, now)
    suppression = caught_by(finding.parts, now=now)
    points = impact_points(finding)
    record = FindingRecord.objects.create(
        bucket=bucket,
        campaign=shard.campaign if shard else None,
        shard=shard,
        submission=submission,
        adopted=adopted,
        round=finding.round,
        key=finding.key,
        key_digest=key_digest,
        coarse="\n".join(finding.coarse),
        symptom=finding.symptom.value,
        framework=finding.accused_framework,
        op=finding.accused_op[:_OP_LENGTH],
        title=finding.title[:_TITLE_LENGTH],
        seed=finding.seed,
        mutator=finding.mutator,
        minimised_nodes=finding.minimised_nodes,
        original_nodes=finding.original_nodes,
        reproduced=finding.reproduction.reproduced,
        attempts=finding.reproduction.attempts,
        signature_digest=text_digest(finding.signature),
        parts=dict(finding.parts),
        impact=sum(point.points for point in points),
        data=finding.to_json(),
        created_at=now,
        rule=rule,
        suppression=suppression,
    )
    count_member(bucket, record, verdict=finding.verdict, points=points)
    if suppression is not None or bucket.suppression_id is not None:
        hold(bucket, now=now)
    if not opened and bucket.status in _SETTLED and bucket.suppression_id is None:
        raise_flag(
            bucket,
            flag=Bucket.Flag.SEEN_AGAIN,
            why=_seen_again(record),
            now=now,
        )
    return record, True


def _seen_again(record: FindingRecord) -> str:
    if record.campaign is not None:
        return f"Found again by {record.campaign.name}, round {record.round}."
    if record.submission is not None:
        return f"Submitted again: {record.submission}."
    return f"Adopted again: {record.adopted}."


def _bucket_of(finding: Finding, now: datetime) -> tuple[Bucket, GroupingRule | None, bool]:
    """The bucket, locked, the rule that says so, and whether the bucket is new."""
    rule = best_rule(active_rules(), finding.parts)
    if rule is not None:
        return _locked(rule.bucket), rule, False
    bucket, opened = Bucket.with_merged.select_for_update().get_or_create(
        signature_digest=text_digest(finding.signature),
        signature_version=SIGNATURE_VERSION,
        defaults={
            "signature": finding.signature,
            "title": finding.title[:_TITLE_LENGTH],
            "verdict": finding.verdict,
            "symptom": finding.symptom.value,
            "framework": finding.accused_framework,
            "op": finding.accused_op[:_OP_LENGTH],
            "minimised_nodes": finding.minimised_nodes,
            "first_seen": now,
            "last_seen": now,
        },
    )
    if opened:
        write_event(
            bucket,
            BucketEvent.Kind.CREATED,
            who=None,
            after=bucket.get_status_display(),
            why="First finding with this signature.",
            now=now,
        )
    if bucket.merged_into_id is not None:
        bucket = _locked(bucket)
    return bucket, None, opened


def _locked(bucket: Bucket) -> Bucket:
    """Where the bucket's findings are now, locked; it may be merged while we wait for the lock."""
    rows = Bucket.with_merged.select_for_update()
    locked = rows.get(pk=resolved(bucket).pk)
    while locked.merged_into_id is not None:
        locked = rows.get(pk=resolved(locked).pk)
    return locked
