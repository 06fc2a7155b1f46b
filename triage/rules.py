"""Writers of rules: which parts of a signature matter for a bucket.

A rule takes in every finding that has its parts, wherever it is, except where a person merged or
split it by hand. Changing a rule and lifting it send what came by it back to where it belongs.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from triage.counting import count_nothing, recount
from triage.events import LINE_LENGTH, Done, locked_buckets, write_event
from triage.grouping import GroupingRefusedError, carry_flag, close_bucket, reopen_bucket
from triage.models import Bucket, BucketEvent, FindingRecord, GroupingRule
from triage.routing import active_rules, best_rule, matches, rivals
from triage.suppressing import hold, records_with

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["RulePlan", "Shift", "plan_rule", "set_rule", "undo_rule"]

_Kind = BucketEvent.Kind
# A rule that takes from more buckets than these was ticked too wide; it would also hold the
# database's lock for long.
_MOST_BUCKETS = 100


@dataclass(frozen=True)
class Shift:
    """Findings that a rule takes from one bucket to another.

    `target` is None where the findings need a bucket of their own signature that is not there yet.
    `rule`: the other rule that takes them, if one does. `empties`: nothing is left in `source`.
    """

    source: Bucket
    target: Bucket | None
    records: tuple[int, ...]
    rule: GroupingRule | None = None
    empties: bool = False


@dataclass(frozen=True)
class RulePlan:
    """What a rule would move: into its bucket and out of it, and how many members stay."""

    enter: tuple[Shift, ...]
    leave: tuple[Shift, ...]
    stay: int

    @property
    def entering(self) -> int:
        return sum(len(shift.records) for shift in self.enter)

    @property
    def leaving(self) -> int:
        return sum(len(shift.records) for shift in self.leave)


def plan_rule(bucket: Bucket, parts: Mapping[str, str]) -> RulePlan:
    """What the rule would move; no parts: what lifting the present one would.

    `GroupingRefusedError` where it matches no member, could not be told from another rule, or is
    so wide that it takes from more than a hundred buckets.
    Members that a person merged or split stay where that person put them.
    """
    others = [rule for rule in active_rules() if rule.bucket_id != bucket.pk]
    if parts:
        _check_rule(bucket, parts, others)
    fresh = GroupingRule(bucket=bucket, parts=dict(parts))
    rules = [*others, fresh]
    enter: dict[int, list[int]] = defaultdict(list)
    coming = records_with(parts).filter(moved=None).exclude(bucket=bucket)
    for pk, home, told in coming.order_by("pk").values_list("pk", "bucket", "parts"):
        if best_rule(rules, told) is fresh:
            enter[home].append(pk)
    if len(enter) > _MOST_BUCKETS:
        raise GroupingRefusedError(
            f"It would take findings from {len(enter)} buckets; at most {_MOST_BUCKETS} are moved "
            "at once. Tick more parts."
        )
    leave: dict[tuple[Bucket | None, GroupingRule | None], list[int]] = defaultdict(list)
    mine = FindingRecord.objects.filter(bucket=bucket)
    going = mine.filter(moved=None, rule__bucket=bucket, rule__active=True)
    for record in going.order_by("pk").defer("data"):
        if matches(parts, record.parts):
            continue
        rule = best_rule(others, record.parts)
        target = _home(record, rule, bucket)
        if target != bucket:
            leave[target, rule].append(record.pk)
    leaving = tuple(
        Shift(bucket, target, tuple(ids), rule) for (target, rule), ids in leave.items()
    )
    stay = mine.count() - sum(len(shift.records) for shift in leaving)
    return RulePlan(tuple(_entering(enter, bucket)), leaving, stay)


@transaction.atomic
def set_rule(
    bucket: Bucket,
    *,
    parts: Mapping[str, str],
    who: User,
    why: str = "",
    now: datetime | None = None,
) -> Done:
    """Say which parts matter for this bucket; no parts lift its rule. The old rule ends."""
    now, batch = now or timezone.now(), uuid.uuid4()
    (bucket,) = locked_buckets([bucket])
    old = bucket.rules.filter(active=True).first()
    before = dict(old.parts) if old else {}
    if before == dict(parts):
        return Done(batch, 0)
    plan = _apply_rule(bucket, parts, who=who, why=why, batch=batch, now=now)
    details = {
        "before": before,
        "after": dict(parts),
        "entered": plan.entering,
        "left": plan.leaving,
    }
    write_event(bucket, _Kind.RULE, who=who, why=why, details=details, batch=batch, now=now)
    return Done(batch, 1)


def undo_rule(bucket: Bucket, event: BucketEvent, who: User) -> bool:
    """Bring back the rule that was there before, or none."""
    now = bucket.rules.filter(active=True).first()
    if (dict(now.parts) if now else {}) != event.details["after"] or bucket.merged_into_id:
        return False
    try:
        _apply_rule(
            bucket,
            event.details["before"],
            who=who,
            why="Undone.",
            batch=uuid.uuid4(),
            now=timezone.now(),
        )
    except GroupingRefusedError:
        return False
    return True


def _check_rule(bucket: Bucket, parts: Mapping[str, str], others: list[GroupingRule]) -> None:
    if bucket.merged_into_id is not None:
        raise GroupingRefusedError(f"“{bucket.title}” is merged into another already.")
    if not records_with(parts).filter(bucket=bucket).exists():
        raise GroupingRefusedError("No member of this bucket has all of these parts.")
    for rule in rivals(others, parts):
        if dict(rule.parts) == dict(parts):
            raise GroupingRefusedError(
                f"The bucket “{rule.bucket.title}” has exactly this rule. Merge the two, "
                "or choose other parts."
            )
        raise GroupingRefusedError(
            f"A finding could match both this rule and that of “{rule.bucket.title}” "
            f"({rule}), and nothing would say which wins: both name "
            f"{len(parts)} part{'s' if len(parts) > 1 else ''}. Add or drop one."
        )


def _entering(found: Mapping[int, list[int]], bucket: Bucket) -> list[Shift]:
    sources = Bucket.with_merged.in_bulk(found)
    return [
        Shift(
            sources[pk],
            bucket,
            tuple(ids),
            empties=sources[pk].count == len(ids),
        )
        for pk, ids in sorted(found.items(), key=lambda pair: -len(pair[1]))
    ]


def _home(record: FindingRecord, rule: GroupingRule | None, leaving: Bucket) -> Bucket | None:
    """Where a finding that leaves a bucket goes; None where its own bucket is to be opened.

    A bucket that the rule had emptied opens again, so the way along merges ends there.
    """
    home = rule.bucket if rule else None
    home = home or Bucket.with_merged.filter(signature_digest=record.signature_digest).first()
    while home is not None and home.merged_into is not None:
        closed = home.merged_by
        if home.merged_into == leaving and closed is not None and closed.kind == _Kind.GAVE_UP:
            break
        home = home.merged_into
    return home


def _apply_rule(
    bucket: Bucket,
    parts: Mapping[str, str],
    *,
    who: User,
    why: str,
    batch: uuid.UUID,
    now: datetime,
) -> RulePlan:
    locked_buckets(shift.source for shift in plan_rule(bucket, parts).enter)
    # Again, now that nothing can come into those buckets: an emptied one must be empty.
    plan = plan_rule(bucket, parts)
    for shift in plan.leave:
        target = shift.target or _open_bucket(
            FindingRecord.objects.get(pk=shift.records[0]), now=now
        )
        if target.merged_into_id == bucket.pk and target.merged_by is not None:
            reopen_bucket(target, target.merged_by)
        _records(shift.records).update(bucket=target, rule=shift.rule)
        write_event(
            target,
            _Kind.TOOK_IN,
            who=who,
            why=why,
            other=bucket,
            details={"findings": len(shift.records)},
            batch=batch,
            now=now,
        )
        hold(recount(target), now=now)
    bucket.rules.filter(active=True).update(active=False)
    made = None
    if parts:
        made = GroupingRule.objects.create(
            bucket=bucket, parts=dict(parts), why=why[:LINE_LENGTH], created_by=who, created_at=now
        )
    FindingRecord.objects.filter(bucket=bucket, moved=None, rule__bucket=bucket).update(rule=made)
    for shift in plan.enter:
        event = write_event(
            shift.source,
            _Kind.GAVE_UP,
            who=who,
            why=why,
            other=bucket,
            details={"findings": len(shift.records)},
            batch=batch,
            now=now,
        )
        _records(shift.records).update(bucket=bucket, rule=made)
        if shift.empties:
            close_bucket(shift.source, bucket, event)
            carry_flag(shift.source, bucket)
        else:
            hold(recount(shift.source), now=now)
    count_nothing([shift.source.pk for shift in plan.enter if shift.empties])
    hold(recount(bucket), now=now)
    return plan


def _open_bucket(record: FindingRecord, *, now: datetime) -> Bucket:
    """The bucket of a finding's signature, opened if it is not there."""
    found = record.finding()
    made, opened = Bucket.with_merged.get_or_create(
        signature_digest=record.signature_digest,
        defaults={
            "signature": found.signature,
            "title": record.title,
            "verdict": found.verdict,
            "symptom": record.symptom,
            "framework": record.framework,
            "op": record.op,
            "first_seen": record.created_at,
            "last_seen": record.created_at,
        },
    )
    if opened:
        write_event(
            made,
            _Kind.CREATED,
            who=None,
            after=made.get_status_display(),
            why="A finding with this signature left another bucket.",
            now=now,
        )
    return made


def _records(ids: Iterable[int]) -> QuerySet[FindingRecord]:
    return FindingRecord.objects.filter(pk__in=list(ids))
