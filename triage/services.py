"""Writers of what people decide about buckets: status, assignee, labels, notes, saved views, undo.

Every decision leaves a line in the bucket's history. The events of one action share a batch, which
`undo_batch` takes back as long as nobody has changed the same thing since.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from triage.models import Bucket, BucketEvent, Label, Note, SavedView

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
    "move_buckets",
    "remove_label",
    "save_view",
    "undo_batch",
]

_S = Bucket.Status
_VERDICTS = frozenset({_S.CONFIRMED, _S.FALSE_ALARM, _S.DUPLICATE, _S.KNOWN_LIMIT})
_LINE_LENGTH = 500

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


@dataclass(frozen=True)
class Done:
    """What an action on several buckets did. `batch` undoes it; `refused`: why some were left."""

    batch: uuid.UUID
    changed: int
    refused: tuple[str, ...] = ()


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
    now: datetime | None = None,
) -> Done:
    """Give each bucket a status; those that may not move are left, with the reason."""
    now = now or timezone.now()
    batch, changed, refused = uuid.uuid4(), 0, []
    for bucket in _locked(buckets):
        if bucket.status == to:
            continue
        if to not in MOVES[bucket.status] or duplicate_of == bucket:
            refused.append(
                f"{bucket.title}: {bucket.get_status_display().lower()} cannot become "
                f"{Bucket.Status(to).label.lower()}"
            )
            continue
        before = bucket.status
        bucket.status, bucket.status_reason, bucket.status_at = to, why[:_LINE_LENGTH], now
        bucket.duplicate_of = duplicate_of if to == _S.DUPLICATE else None
        bucket.save(update_fields=["status", "status_reason", "status_at", "duplicate_of"])
        _note_event(bucket, BucketEvent.Kind.STATUS, before, to, who=who, why=why, batch=batch)
        changed += 1
    return Done(batch, changed, tuple(refused))


@transaction.atomic
def assign_buckets(buckets: Iterable[Bucket], *, assignee: User | None, who: User) -> Done:
    """Give buckets to somebody, or to nobody."""
    batch, changed = uuid.uuid4(), 0
    after = assignee.get_username() if assignee else ""
    for bucket in _locked(buckets):
        before = bucket.assignee.get_username() if bucket.assignee else ""
        if before == after:
            continue
        bucket.assignee = assignee
        bucket.save(update_fields=["assignee"])
        _note_event(bucket, BucketEvent.Kind.ASSIGNEE, before, after, who=who, batch=batch)
        changed += 1
    return Done(batch, changed)


@transaction.atomic
def add_labels(buckets: Iterable[Bucket], *, names: Iterable[str], who: User) -> Done:
    """Add labels beside the ones that are there; a label that does not exist is made."""
    labels = [_label(name) for name in dict.fromkeys(name.strip() for name in names) if name]
    batch, changed = uuid.uuid4(), 0
    for bucket in _locked(buckets):
        fresh = [label for label in labels if label not in bucket.labels.all()]
        for label in fresh:
            bucket.labels.add(label)
            _note_event(bucket, BucketEvent.Kind.LABELS, "", label.name, who=who, batch=batch)
        changed += bool(fresh)
    return Done(batch, changed)


@transaction.atomic
def remove_label(bucket: Bucket, *, label: Label, who: User) -> Done:
    """Take a label off a bucket."""
    batch = uuid.uuid4()
    if label not in bucket.labels.all():
        return Done(batch, 0)
    bucket.labels.remove(label)
    _note_event(bucket, BucketEvent.Kind.LABELS, label.name, "", who=who, batch=batch)
    return Done(batch, 1)


@transaction.atomic
def clear_flag(bucket: Bucket, *, who: User, why: str = "") -> Bucket:
    """Take down what a machine raised: a person has looked."""
    if bucket.flag:
        before = bucket.get_flag_display()
        bucket.flag, bucket.flag_reason, bucket.flag_at = Bucket.Flag.NONE, "", None
        bucket.save(update_fields=["flag", "flag_reason", "flag_at"])
        _note_event(bucket, BucketEvent.Kind.FLAG_CLEARED, before, "", who=who, why=why)
    return bucket


@transaction.atomic
def add_note(bucket: Bucket, *, text: str, who: User) -> Note:
    """Write a note, in Markdown."""
    note = Note.objects.create(bucket=bucket, author=who, text=text)
    _note_event(bucket, BucketEvent.Kind.NOTE, "", text.splitlines()[0], who=who)
    return note


def save_view(*, owner: User, name: str, query: str, shared: bool) -> SavedView:
    """Keep filters under a name; the owner's view of that name is replaced."""
    view, _ = SavedView.objects.update_or_create(
        owner=owner, name=name, defaults={"query": query, "shared": shared}
    )
    return view


@transaction.atomic
def undo_batch(batch: uuid.UUID, *, who: User) -> Done:
    """Take back what one action did, where the bucket is still as that action left it."""
    events = list(
        BucketEvent.objects.filter(batch=batch, undone=False, kind__in=_UNDO).select_related(
            "bucket__assignee"
        )
    )
    undo, changed, refused = uuid.uuid4(), set[int](), []
    for event in events:
        if not _UNDO[event.kind](event.bucket, event):
            refused.append(f"{event.bucket.title}: changed again since")
            continue
        event.undone = True
        event.save(update_fields=["undone"])
        kind = BucketEvent.Kind(event.kind)
        _note_event(
            event.bucket, kind, event.after, event.before, who=who, why="Undone.", batch=undo
        )
        changed.add(event.bucket_id)
    return Done(undo, len(changed), tuple(refused))


def _undo_status(bucket: Bucket, event: BucketEvent) -> bool:
    if bucket.status != event.after:
        return False
    bucket.status, bucket.status_reason, bucket.duplicate_of = event.before, "", None
    bucket.save(update_fields=["status", "status_reason", "duplicate_of"])
    return True


def _undo_assignee(bucket: Bucket, event: BucketEvent) -> bool:
    if (bucket.assignee.get_username() if bucket.assignee else "") != event.after:
        return False
    bucket.assignee = get_user_model().objects.filter(username=event.before).first()
    bucket.save(update_fields=["assignee"])
    return True


def _undo_labels(bucket: Bucket, event: BucketEvent) -> bool:
    if event.after:
        return bool(
            Bucket.labels.through.objects.filter(bucket=bucket, label__name=event.after).delete()[0]
        )
    bucket.labels.add(_label(event.before))
    return True


_UNDO: Mapping[str, Callable[[Bucket, BucketEvent], bool]] = {
    BucketEvent.Kind.STATUS: _undo_status,
    BucketEvent.Kind.ASSIGNEE: _undo_assignee,
    BucketEvent.Kind.LABELS: _undo_labels,
}


def _locked(buckets: Iterable[Bucket]) -> list[Bucket]:
    """The buckets as they are now, locked until the transaction ends, in one order for all."""
    ids = [bucket.pk for bucket in buckets]
    found = Bucket.objects.select_for_update(of=("self",)).filter(pk__in=ids).order_by("pk")
    return list(found.select_related("assignee").prefetch_related("labels"))


def _label(name: str) -> Label:
    return Label.objects.filter(name__iexact=name).first() or Label.objects.create(name=name[:40])


def _note_event(
    bucket: Bucket,
    kind: BucketEvent.Kind,
    before: str,
    after: str,
    *,
    who: User | None,
    why: str = "",
    batch: uuid.UUID | None = None,
) -> BucketEvent:
    return BucketEvent.objects.create(
        bucket=bucket,
        kind=kind,
        before=before[:_LINE_LENGTH],
        after=after[:_LINE_LENGTH],
        who=who,
        why=why[:_LINE_LENGTH],
        batch=batch or uuid.uuid4(),
    )
