"""Writers of grouping: merge buckets, and split one. Rules are in `triage.rules`.

Everything that people decided stays: a merged bucket keeps its row and its history, its notes and
reports go to the target, and its labels are put on the target too. Each action is a batch, which
undo takes back as long as what it moved is still where it put it.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from triage.counting import count_nothing, recount
from triage.events import Done, locked_buckets, write_event
from triage.models import (
    Bucket,
    BucketEvent,
    FindingRecord,
    text_digest,
)
from triage.suppressing import hold

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "GroupingRefusedError",
    "carry_flag",
    "check_merge",
    "check_split",
    "close_bucket",
    "merge_buckets",
    "reopen_bucket",
    "split_bucket",
    "undo_merge",
    "undo_split",
]

_Kind = BucketEvent.Kind


class GroupingRefusedError(Exception):
    """A merge, a split or a rule that would not make sense; the message is for a person."""


# --------------------------------------------------------------------------------------- merge
def check_merge(sources: Sequence[Bucket], *, into: Bucket) -> None:
    """`GroupingRefusedError` where the buckets cannot be merged."""
    if not sources:
        raise GroupingRefusedError("Pick at least two buckets to merge.")
    if into in sources:
        raise GroupingRefusedError("A bucket cannot be merged into itself.")
    for bucket in (*sources, into):
        if bucket.merged_into_id is not None:
            raise GroupingRefusedError(f"“{bucket.title}” is merged into another already.")
    if any(into.duplicate_of_id == source.pk for source in sources):
        raise GroupingRefusedError(
            f"“{into.title}” is a duplicate of a bucket that would be merged into it. "
            "Merge them the other way round."
        )


@transaction.atomic
def merge_buckets(
    sources: Iterable[Bucket],
    *,
    into: Bucket,
    who: User,
    why: str = "",
    now: datetime | None = None,
) -> Done:
    """Put all findings, notes, reports and labels of the sources into one bucket.

    The sources' addresses lead there from now on, and so do new findings with their signatures.
    The target's status and assignee stay; those of the sources are in its history.
    """
    now, batch = now or timezone.now(), uuid.uuid4()
    locked = {bucket.pk: bucket for bucket in locked_buckets([*sources, into])}
    into = locked.pop(into.pk)
    check_merge(list(locked.values()), into=into)
    for source in locked.values():
        told = _told(source)
        event = write_event(
            source,
            _Kind.MERGED,
            who=who,
            why=why,
            other=into,
            details=told,
            batch=batch,
            now=now,
        )
        _place(FindingRecord.objects.filter(bucket=source), into, event)
        close_bucket(source, into, event)
        write_event(
            into,
            _Kind.TOOK_IN,
            who=who,
            why=why,
            other=source,
            details=told,
            batch=batch,
            now=now,
        )
        carry_flag(source, into)
    count_nothing(locked)
    hold(recount(into), now=now)
    return Done(batch, len(locked))


def undo_merge(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    """Give a merged bucket back what it brought, and what came in by its signature since."""
    target = event.other
    if target is None or bucket.merged_by_id != event.pk or target.merged_into_id is not None:
        return False
    _put_back(event, bucket)
    tree = _tree(bucket)
    digests = [one.signature_digest for one in tree]
    rules = [rule.pk for one in tree for rule in one.rules.all()]
    since = FindingRecord.objects.filter(bucket=target, moved=None)
    since.filter(rule=None, signature_digest__in=digests).update(bucket=bucket)
    since.filter(rule__in=rules).update(bucket=bucket)
    reopen_bucket(bucket, event)
    for one in (bucket, target):
        hold(recount(one))
    return True


# --------------------------------------------------------------------------------------- split
def check_split(bucket: Bucket, members: QuerySet[FindingRecord]) -> None:
    """`GroupingRefusedError` where these members cannot be split off."""
    if bucket.merged_into_id is not None:
        raise GroupingRefusedError(f"“{bucket.title}” is merged into another already.")
    picked = members.filter(bucket=bucket).count()
    if not picked:
        raise GroupingRefusedError("Pick the members that are to go.")
    if picked == FindingRecord.objects.filter(bucket=bucket).count():
        raise GroupingRefusedError("At least one member must stay.")


@transaction.atomic
def split_bucket(
    bucket: Bucket,
    *,
    members: QuerySet[FindingRecord],
    who: User,
    why: str = "",
    now: datetime | None = None,
) -> tuple[Done, Bucket]:
    """Put members into a bucket of their own, which is returned too.

    New findings with the same signature go on landing in the old one, unless a rule says else.
    """
    now, batch = now or timezone.now(), uuid.uuid4()
    (bucket,) = locked_buckets([bucket])
    check_split(bucket, members)
    members = members.filter(bucket=bucket)
    ids = list(members.values_list("pk", flat=True))
    mark = uuid.uuid4()
    signature = f"{bucket.signature} (split off {mark})"
    made = Bucket.with_merged.create(
        uuid=mark,
        signature=signature,
        signature_digest=text_digest(signature),
        title=bucket.title,
        verdict=bucket.verdict,
        symptom=bucket.symptom,
        framework=bucket.framework,
        first_seen=now,
        last_seen=now,
    )
    details = {"findings": len(ids)}
    event = write_event(
        bucket, _Kind.SPLIT, who=who, why=why, other=made, details=details, batch=batch, now=now
    )
    write_event(
        made,
        _Kind.MADE_BY_SPLIT,
        who=who,
        why=why,
        other=bucket,
        details=details,
        batch=batch,
        now=now,
    )
    _place(members, made, event)
    for one in (bucket, made):
        hold(recount(one), now=now)
    return Done(batch, 1), made


def undo_split(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    """Put the members back. A bucket that is left empty is merged, with its notes and reports."""
    made = event.other
    if made is None or made.merged_into_id is not None or bucket.merged_into_id is not None:
        return False
    _put_back(event, bucket)
    if not FindingRecord.objects.filter(bucket=made).exists():
        details = {**_told(made), "undo_of": event.pk}
        why = "The split was taken back."
        closing = write_event(made, _Kind.MERGED, who=who, why=why, other=bucket, details=details)
        close_bucket(made, bucket, closing)
    for one in (bucket, made):
        hold(recount(one))
    return True


# --------------------------------------------------------------------------------------- pieces
def _told(bucket: Bucket) -> dict[str, Any]:
    """What people had decided about a bucket, for the history of the one that takes it in."""
    return {
        "findings": bucket.count,
        "status": bucket.status,
        "reason": bucket.status_reason,
        "assignee": bucket.assignee.get_username() if bucket.assignee else "",
    }


def _place(records: QuerySet[FindingRecord], target: Bucket, event: BucketEvent) -> None:
    """Move findings by a person's hand; the event keeps where those stood that were no plain ones.

    After this `records` may match nothing: it is often told by the bucket they were in.
    """
    before = records.exclude(moved=None, rule=None).order_by().values_list("pk", "moved", "rule")
    event.details["placed"] = [list(row) for row in before]
    event.save(update_fields=["details"])
    records.update(bucket=target, moved=event, rule=None)


def _put_back(event: BucketEvent, bucket: Bucket) -> None:
    """Move back what an event moved, as far as it is still where the event put it."""
    moved = FindingRecord.objects.filter(moved=event, bucket=event.other)
    back = set(moved.values_list("pk", flat=True))
    moved.update(bucket=bucket, moved=None, rule=None)
    groups: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    for pk, earlier, rule in event.details.get("placed", []):
        if pk in back:
            groups[earlier, rule].append(pk)
    for (earlier, rule), ids in groups.items():
        _records(ids).update(moved=earlier, rule=rule)


def close_bucket(source: Bucket, target: Bucket, event: BucketEvent) -> None:
    """The target stands for the source from now on; notes, reports and labels come along."""
    notes = list(source.notes.values_list("pk", flat=True))
    reports = list(source.reports.values_list("pk", flat=True))
    labels = list(source.labels.values_list("pk", flat=True))
    if notes:
        source.notes.update(bucket=target)
    if reports:
        source.reports.update(bucket=target)
    if labels:
        there = set(target.labels.values_list("pk", flat=True))
        labels = [pk for pk in labels if pk not in there]
        target.labels.add(*labels)
    event.details |= {"notes": notes, "reports": reports, "labels": labels}
    event.save(update_fields=["details"])
    source.merged_into, source.merged_by = target, event
    source.save(update_fields=["merged_into", "merged_by"])


def reopen_bucket(source: Bucket, event: BucketEvent) -> None:
    """Take `_close` back, as far as the target still has what came along."""
    target = event.other
    if target is not None:
        target.notes.filter(pk__in=event.details["notes"]).update(bucket=source)
        target.reports.filter(pk__in=event.details["reports"]).update(bucket=source)
        target.labels.remove(*event.details["labels"])
    source.merged_into = source.merged_by = None
    source.save(update_fields=["merged_into", "merged_by"])


def carry_flag(source: Bucket, target: Bucket) -> None:
    """A flag that nobody has looked at must not vanish with its bucket."""
    if source.flag and not target.flag:
        target.flag, target.flag_at = source.flag, source.flag_at
        target.flag_reason = source.flag_reason
        target.save(update_fields=["flag", "flag_reason", "flag_at"])


def _tree(bucket: Bucket) -> list[Bucket]:
    """The bucket and all that were merged into it before."""
    tree, fresh = [bucket], [bucket]
    while fresh:
        fresh = list(Bucket.with_merged.filter(merged_into__in=fresh))
        tree += fresh
    return tree


def _records(ids: Iterable[int]) -> QuerySet[FindingRecord]:
    return FindingRecord.objects.filter(pk__in=list(ids))
