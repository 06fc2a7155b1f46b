"""Writers of suppressions: a known limit keeps new findings of its kind from asking for a person.

What a suppression catches is recorded like everything else. A bucket is *held* while nobody has
judged it and all its members are caught, or while it is the known limit itself; `hold` says so on
the bucket. When the suppression ends, its buckets come back with a flag.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from triage.events import LINE_LENGTH, Done, raise_flag, write_event
from triage.models import Bucket, BucketEvent, FindingRecord, Suppression
from triage.routing import matches

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "DEFAULT_DAYS",
    "caught_by",
    "default_parts",
    "end_suppressions",
    "hold",
    "lift_suppression",
    "lift_suppressions_of",
    "move_expiry",
    "records_with",
    "restore_suppression",
    "set_expiry",
    "suppress_bucket",
    "withdraw_suppression",
    "would_catch",
]

DEFAULT_DAYS = 180
_UNJUDGED = frozenset({Bucket.Status.NEW})
_Kind = BucketEvent.Kind


def default_parts(bucket: Bucket) -> dict[str, str]:
    """What a suppression matches unless a person says otherwise: all that the members share."""
    return {name: value for name, value in bucket.parts.items() if name != "version"}


def caught_by(parts: Mapping[str, str], *, now: datetime) -> Suppression | None:
    """The suppression in force that matches a finding with these parts. One query."""
    active = Suppression.objects.filter(lifted_at=None, expires_at__gt=now)
    return next((one for one in active if matches(one.parts, parts)), None)


def records_with(parts: Mapping[str, str]) -> QuerySet[FindingRecord]:
    """Findings that have all of these parts; none where no part is named."""
    if not parts:
        return FindingRecord.objects.none()
    return FindingRecord.objects.filter(**{f"parts__{name}": parts[name] for name in parts})


def would_catch(bucket: Bucket, parts: Mapping[str, str]) -> QuerySet[FindingRecord]:
    """Findings here now that would be caught: the bucket's own, and those nobody has judged."""
    mine = Q(bucket=bucket) | Q(bucket__status__in=_UNJUDGED)
    return records_with(parts).filter(mine, Q(suppression=None))


@transaction.atomic
def suppress_bucket(
    bucket: Bucket,
    *,
    reason: str,
    who: User,
    source: str = "",
    parts: Mapping[str, str] | None = None,
    expires_at: datetime | None = None,
    batch: uuid.UUID | None = None,
    now: datetime | None = None,
) -> Suppression:
    """Catch what has these parts, from now until `expires_at` (180 days where nobody says)."""
    now = now or timezone.now()
    made = Suppression.objects.create(
        bucket=bucket,
        parts=dict(default_parts(bucket) if parts is None else parts),
        reason=reason[:LINE_LENGTH],
        source=source[:LINE_LENGTH],
        expires_at=expires_at or now + timedelta(days=DEFAULT_DAYS),
        created_by=who,
        created_at=now,
    )
    touched = _catch(made)
    write_event(
        bucket,
        _Kind.SUPPRESSION,
        who=who,
        after=f"until {timezone.localtime(made.expires_at):%Y-%m-%d}",
        why=made.reason,
        details={"suppression": made.pk, "buckets": len(touched - {bucket.pk})},
        batch=batch,
        now=now,
    )
    return made


@transaction.atomic
def lift_suppression(
    suppression: Suppression,
    *,
    who: User,
    why: str = "",
    batch: uuid.UUID | None = None,
    now: datetime | None = None,
) -> Done:
    """Let its buckets ask again. What it caught stays on record as caught."""
    batch = batch or uuid.uuid4()
    if not withdraw_suppression(suppression, now=now):
        return Done(batch, 0)
    write_event(
        suppression.bucket,
        _Kind.SUPPRESSION_LIFTED,
        who=who,
        before=suppression.reason,
        why=why,
        details={"suppression": suppression.pk},
        batch=batch,
        now=now,
    )
    return Done(batch, 1)


@transaction.atomic
def withdraw_suppression(suppression: Suppression, *, now: datetime | None = None) -> bool:
    """The lift itself, without a line of history; whether it was in force."""
    locked = Suppression.objects.select_for_update().get(pk=suppression.pk)
    if locked.lifted_at is not None:
        return False
    locked.lifted_at = now or timezone.now()
    locked.save(update_fields=["lifted_at"])
    _hold_all(Bucket.with_merged.filter(suppression=locked))
    return True


def lift_suppressions_of(bucket: Bucket, *, who: User, batch: uuid.UUID, now: datetime) -> None:
    """The bucket is no known limit any more."""
    for one in bucket.own_suppressions.filter(lifted_at=None, expires_at__gt=now):
        lift_suppression(one, who=who, why="No longer a known limit.", batch=batch, now=now)


@transaction.atomic
def restore_suppression(suppression: Suppression) -> None:
    """Take a lift back."""
    suppression.lifted_at = None
    suppression.save(update_fields=["lifted_at"])
    _catch(suppression)


@transaction.atomic
def set_expiry(
    suppression: Suppression, *, expires_at: datetime, who: User, now: datetime | None = None
) -> Done:
    """End it at another time; one that has ended already begins again."""
    batch, before = uuid.uuid4(), timezone.localtime(suppression.expires_at)
    if before == expires_at:
        return Done(batch, 0)
    move_expiry(suppression, expires_at=expires_at)
    write_event(
        suppression.bucket,
        _Kind.SUPPRESSION_EXPIRY,
        who=who,
        before=f"{before:%Y-%m-%d}",
        after=f"{timezone.localtime(expires_at):%Y-%m-%d}",
        details={"suppression": suppression.pk, "was": before.isoformat()},
        batch=batch,
        now=now,
    )
    return Done(batch, 1)


@transaction.atomic
def move_expiry(suppression: Suppression, *, expires_at: datetime) -> None:
    """The change itself, without a line of history."""
    suppression.expires_at, suppression.ended_at = expires_at, None
    suppression.save(update_fields=["expires_at", "ended_at"])
    _catch(suppression)


@transaction.atomic
def end_suppressions(*, now: datetime | None = None) -> int:
    """Flag the buckets of suppressions that have expired since; how many buckets. May run twice."""
    now, flagged = now or timezone.now(), 0
    due = Suppression.objects.filter(lifted_at=None, ended_at=None, expires_at__lte=now)
    if not due.exists():
        return 0
    for one in due.select_for_update():
        for bucket in Bucket.with_merged.filter(suppression=one, merged_into=None):
            day = timezone.localtime(one.expires_at)
            why = f"Expired on {day:%Y-%m-%d}: {one.reason}"
            raise_flag(bucket, flag=Bucket.Flag.SUPPRESSION_ENDED, why=why, now=now)
            flagged += 1
        one.ended_at = now
        one.save(update_fields=["ended_at"])
        _hold_all(Bucket.with_merged.filter(suppression=one), now=now)
    return flagged


def hold(bucket: Bucket, *, now: datetime | None = None) -> None:
    """Say on the bucket which suppression keeps it quiet, if one does. Two queries at most."""
    found = _holder(bucket, now or timezone.now())
    if bucket.suppression_id != (found.pk if found else None):
        bucket.suppression = found
        bucket.save(update_fields=["suppression"])


def _holder(bucket: Bucket, now: datetime) -> Suppression | None:
    active = Suppression.objects.filter(lifted_at=None, expires_at__gt=now)
    if bucket.status == Bucket.Status.KNOWN_LIMIT:
        return active.filter(bucket=bucket).last()
    if bucket.status not in _UNJUDGED:
        return None
    caught = bucket.findings.order_by().values_list("suppression", flat=True).distinct()[:2]
    ids = list(caught)
    if len(ids) != 1 or ids[0] is None:
        return None
    return active.filter(pk=ids[0]).first()


def _catch(suppression: Suppression) -> set[int]:
    """Mark the findings that it matches, hold their buckets; ids of the buckets."""
    if not suppression.is_active:
        _hold_all(Bucket.with_merged.filter(suppression=suppression))
        return set()
    caught = would_catch(suppression.bucket, suppression.parts)
    touched = set(caught.order_by().values_list("bucket", flat=True).distinct())
    caught.update(suppression=suppression)
    mine = FindingRecord.objects.filter(suppression=suppression).order_by()
    touched |= set(mine.values_list("bucket", flat=True).distinct()) | {suppression.bucket_id}
    _hold_all(Bucket.with_merged.filter(pk__in=touched))
    return touched


def _hold_all(buckets: Iterable[Bucket], *, now: datetime | None = None) -> None:
    for bucket in list(buckets):
        hold(bucket, now=now)
