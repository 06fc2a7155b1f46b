"""Writers of what people decide about buckets: status, assignee, labels, notes, undo.

Every decision leaves a line in the bucket's history. The events of one action share a batch, which
`undo_batch` takes back as long as nobody has changed the same thing since.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from triage.events import LINE_LENGTH, Done, locked_buckets, write_event
from triage.grouping import undo_merge, undo_split
from triage.models import Bucket, BucketEvent, Label, Note, Suppression
from triage.routing import resolved
from triage.rules import undo_rule
from triage.suppressing import (
    hold,
    lift_suppressions_of,
    move_expiry,
    restore_suppression,
    suppress_bucket,
    withdraw_suppression,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "MOVES",
    "Done",
    "MoveRefusedError",
    "add_labels",
    "add_note",
    "allowed_moves",
    "assign_buckets",
    "clear_flag",
    "delete_note",
    "edit_note",
    "move_buckets",
    "remove_labels",
    "undo_batch",
]

_S = Bucket.Status
_VERDICTS = frozenset({_S.CONFIRMED, _S.FALSE_ALARM, _S.DUPLICATE, _S.KNOWN_LIMIT})

# From each status, the ones a person may give next.
MOVES: Mapping[str, frozenset[str]] = {
    _S.NEW: _VERDICTS | {_S.NEEDS_WORK},
    _S.NEEDS_WORK: _VERDICTS | {_S.NEW},
    _S.CONFIRMED: (_VERDICTS - {_S.CONFIRMED}) | {_S.NEW, _S.NEEDS_WORK, _S.REPORTED, _S.FIXED},
    _S.REPORTED: _VERDICTS | {_S.FIXED},
    _S.FIXED: frozenset({_S.CONFIRMED, _S.REPORTED}),
    _S.FALSE_ALARM: frozenset({_S.NEW, _S.NEEDS_WORK, _S.CONFIRMED}),
    _S.DUPLICATE: frozenset({_S.NEW, _S.NEEDS_WORK, _S.CONFIRMED}),
    _S.KNOWN_LIMIT: frozenset({_S.NEW, _S.NEEDS_WORK, _S.CONFIRMED}),
}


class MoveRefusedError(Exception):
    """A status that may not follow the present one; the message is for a person."""


def allowed_moves(status: str) -> list[Bucket.Status]:
    """Statuses that may follow, in the order of the enum."""
    return [choice for choice in Bucket.Status if choice in MOVES[status]]


@transaction.atomic
def move_buckets(
    buckets: Iterable[Bucket],
    *,
    to: str,
    who: User,
    why: str = "",
    duplicate_of: Bucket | None = None,
    false_alarm: str = "",
    source: str = "",
    parts: Mapping[str, str] | None = None,
    expires_at: datetime | None = None,
    now: datetime | None = None,
) -> Done:
    """Give each bucket a status; those that may not move are left, with the reason.

    `duplicate_of` goes with a duplicate, `false_alarm` (its kind) with a false alarm. A known limit
    makes a suppression of `parts` with its `source` until `expires_at`; leaving it lifts that.
    """
    now, batch, changed, refused = now or timezone.now(), uuid.uuid4(), 0, []
    original = None
    if duplicate_of is not None and to == _S.DUPLICATE:
        original = resolved(Bucket.with_merged.get(pk=duplicate_of.pk))
    for bucket in locked_buckets(buckets):
        if bucket.status == to:
            continue
        reason = _refusal(bucket, to, original)
        if reason:
            refused.append(f"{bucket.title}: {reason}")
            continue
        details = {
            "reason": bucket.status_reason,
            "false_alarm_before": bucket.false_alarm,
            "duplicate_before": bucket.duplicate_of_id,
        }
        before = bucket.status
        bucket.status, bucket.status_reason, bucket.status_at = to, why[:LINE_LENGTH], now
        bucket.duplicate_of = original
        bucket.false_alarm = false_alarm if to == _S.FALSE_ALARM else ""
        bucket.save(update_fields=_STATUS_FIELDS)
        write_event(
            bucket,
            BucketEvent.Kind.STATUS,
            who=who,
            before=before,
            after=to,
            why=why,
            other=original,
            details={**details, "false_alarm": bucket.false_alarm},
            batch=batch,
            now=now,
        )
        if before == _S.KNOWN_LIMIT:
            lift_suppressions_of(bucket, who=who, batch=batch, now=now)
        if to == _S.KNOWN_LIMIT:
            suppress_bucket(
                bucket,
                reason=why or "Known limit.",
                source=source,
                parts=parts,
                expires_at=expires_at,
                who=who,
                batch=batch,
                now=now,
            )
        _hold_again(bucket, now)
        changed += 1
    return Done(batch, changed, tuple(refused))


_STATUS_FIELDS = ["status", "status_reason", "status_at", "duplicate_of", "false_alarm"]


def _refusal(bucket: Bucket, to: str, original: Bucket | None) -> str:
    """Why a bucket may not have a status, "" where it may."""
    if bucket.merged_into_id is not None:
        return "it is merged into another bucket"
    if to not in MOVES[bucket.status] or original == bucket:
        label = Bucket.Status(to).label.lower()
        return f"{bucket.get_status_display().lower()} cannot become {label}"
    if original is not None and original.duplicate_of_id == bucket.pk:
        return f"“{original.title}” is a duplicate of it"
    return ""


def _hold_again(bucket: Bucket, now: datetime) -> None:
    bucket.refresh_from_db(fields=["suppression"])
    hold(bucket, now=now)


@transaction.atomic
def assign_buckets(buckets: Iterable[Bucket], *, assignee: User | None, who: User) -> Done:
    """Give buckets to somebody, or to nobody."""
    batch, changed = uuid.uuid4(), 0
    after = assignee.get_username() if assignee else ""
    for bucket in locked_buckets(buckets):
        before = bucket.assignee.get_username() if bucket.assignee else ""
        if before == after:
            continue
        bucket.assignee = assignee
        bucket.save(update_fields=["assignee"])
        kind = BucketEvent.Kind.ASSIGNEE
        write_event(bucket, kind, before=before, after=after, who=who, batch=batch)
        changed += 1
    return Done(batch, changed)


@transaction.atomic
def add_labels(buckets: Iterable[Bucket], *, names: Iterable[str], who: User) -> Done:
    """Add labels beside the ones that are there; a label that does not exist is made."""
    labels = [_label(name) for name in dict.fromkeys(name.strip() for name in names) if name]
    batch, changed = uuid.uuid4(), 0
    for bucket in locked_buckets(buckets):
        fresh = [label for label in labels if label not in bucket.labels.all()]
        for label in fresh:
            bucket.labels.add(label)
            kind = BucketEvent.Kind.LABELS
            write_event(bucket, kind, after=label.name, who=who, batch=batch)
        changed += bool(fresh)
    return Done(batch, changed)


@transaction.atomic
def remove_labels(buckets: Iterable[Bucket], *, names: Iterable[str], who: User) -> Done:
    """Take labels off; a name that a bucket does not carry is passed over."""
    wanted = {name.strip().lower() for name in names}
    batch, changed = uuid.uuid4(), 0
    for bucket in locked_buckets(buckets):
        carried = [label for label in bucket.labels.all() if label.name.lower() in wanted]
        for label in carried:
            bucket.labels.remove(label)
            write_event(bucket, BucketEvent.Kind.LABELS, before=label.name, who=who, batch=batch)
        changed += bool(carried)
    return Done(batch, changed)


@transaction.atomic
def clear_flag(bucket: Bucket, *, who: User, why: str = "") -> Bucket:
    """Take down what a machine raised: a person has looked."""
    if bucket.flag:
        before = bucket.get_flag_display()
        bucket.flag, bucket.flag_reason, bucket.flag_at = Bucket.Flag.NONE, "", None
        bucket.save(update_fields=["flag", "flag_reason", "flag_at"])
        write_event(bucket, BucketEvent.Kind.FLAG_CLEARED, before=before, who=who, why=why)
    return bucket


@transaction.atomic
def add_note(bucket: Bucket, *, text: str, who: User) -> Note:
    """Write a note, in Markdown."""
    note = Note.objects.create(bucket=bucket, author=who, text=text)
    write_event(bucket, BucketEvent.Kind.NOTE, after=text.splitlines()[0], who=who)
    return note


@transaction.atomic
def edit_note(note: Note, *, text: str, who: User, now: datetime | None = None) -> Note:
    """Write a note anew; the history keeps that it was edited, and its first lines."""
    before, note.text, note.edited_at = note.text, text, now or timezone.now()
    note.save(update_fields=["text", "edited_at"])
    write_event(
        note.bucket,
        BucketEvent.Kind.NOTE_EDITED,
        before=before.splitlines()[0],
        after=text.splitlines()[0],
        who=who,
    )
    return note


@transaction.atomic
def delete_note(note: Note, *, who: User) -> Done:
    """Take a note from the page; undoing the batch brings it back."""
    batch = uuid.uuid4()
    taken = Note.objects.filter(pk=note.pk, deleted_in=None).update(deleted_in=batch)
    if taken:
        write_event(
            note.bucket,
            BucketEvent.Kind.NOTE_DELETED,
            before=note.text.splitlines()[0],
            who=who,
            batch=batch,
        )
    return Done(batch, taken)


@transaction.atomic
def undo_batch(batch: uuid.UUID, *, who: User) -> Done:
    """Take back what one action did, where everything is still as that action left it."""
    events = list(
        BucketEvent.objects.filter(batch=batch, undone=False, kind__in=_UNDO).select_related(
            "bucket__assignee", "other"
        )
    )
    undo, changed, refused = uuid.uuid4(), set[int](), []
    for event in events:
        event.bucket.refresh_from_db()
        if "undo_of" in event.details or not _UNDO[event.kind](event.bucket, event, who):
            refused.append(f"{event.bucket.title}: changed again since")
            continue
        event.undone = True
        event.save(update_fields=["undone"])
        _companions(event).update(undone=True)
        write_event(
            event.bucket,
            BucketEvent.Kind(event.kind),
            before=event.after,
            after=event.before,
            who=who,
            why="Undone.",
            other=event.other,
            details={**event.details, "undo_of": event.pk},
            batch=undo,
        )
        changed.add(event.bucket_id)
    return Done(undo, len(changed), tuple(refused))


def _companions(event: BucketEvent) -> QuerySet[BucketEvent]:
    """Lines of the same action in the histories of other buckets, which fall with it."""
    same = BucketEvent.objects.filter(batch=event.batch)
    if event.kind == BucketEvent.Kind.RULE:
        return same.filter(kind__in=[BucketEvent.Kind.GAVE_UP, BucketEvent.Kind.TOOK_IN])
    kinds = [BucketEvent.Kind.TOOK_IN, BucketEvent.Kind.MADE_BY_SPLIT]
    return same.filter(kind__in=kinds, other=event.bucket)


def _undo_status(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    if bucket.status != event.after or bucket.merged_into_id is not None:
        return False
    details, now = event.details, timezone.now()
    bucket.status, bucket.status_reason = event.before, details.get("reason", "")
    bucket.false_alarm = details.get("false_alarm_before", "")
    bucket.duplicate_of_id = details.get("duplicate_before")
    bucket.save(update_fields=_STATUS_FIELDS)
    _hold_again(bucket, now)
    return True


def _undo_assignee(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    if (bucket.assignee.get_username() if bucket.assignee else "") != event.after:
        return False
    bucket.assignee = get_user_model().objects.filter(username=event.before).first()
    bucket.save(update_fields=["assignee"])
    return True


def _undo_labels(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    if event.after:
        return bool(
            Bucket.labels.through.objects.filter(bucket=bucket, label__name=event.after).delete()[0]
        )
    bucket.labels.add(_label(event.before))
    return True


def _undo_deletion(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    return bool(Note.objects.filter(deleted_in=event.batch).update(deleted_in=None))


def _suppression(event: BucketEvent) -> Suppression:
    return Suppression.objects.get(pk=event.details["suppression"])


def _undo_suppression(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    return withdraw_suppression(_suppression(event))


def _undo_lift(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    suppression = _suppression(event)
    if suppression.lifted_at is None:
        return False
    restore_suppression(suppression)
    return True


def _undo_expiry(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    suppression = _suppression(event)
    if f"{timezone.localtime(suppression.expires_at):%Y-%m-%d}" != event.after:
        return False
    move_expiry(suppression, expires_at=datetime.fromisoformat(event.details["was"]))
    return True


_UNDO: Mapping[str, Callable[[Bucket, BucketEvent, User], bool]] = {
    BucketEvent.Kind.STATUS: _undo_status,
    BucketEvent.Kind.ASSIGNEE: _undo_assignee,
    BucketEvent.Kind.LABELS: _undo_labels,
    BucketEvent.Kind.NOTE_DELETED: _undo_deletion,
    BucketEvent.Kind.MERGED: undo_merge,
    BucketEvent.Kind.SPLIT: undo_split,
    BucketEvent.Kind.RULE: undo_rule,
    BucketEvent.Kind.SUPPRESSION: _undo_suppression,
    BucketEvent.Kind.SUPPRESSION_LIFTED: _undo_lift,
    BucketEvent.Kind.SUPPRESSION_EXPIRY: _undo_expiry,
}


def _label(name: str) -> Label:
    return Label.objects.filter(name__iexact=name).first() or Label.objects.create(name=name[:40])
