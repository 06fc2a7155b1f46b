"""Reader of a bucket's history as sentences: who did what to it and why, and what can be undone."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from triage.models import Bucket, BucketEvent, GroupingRule, Suppression

__all__ = ["Line", "bucket_history", "sentence"]

_Kind = BucketEvent.Kind
_S = Bucket.Status
_TEXT = 160
# Lines that other buckets get from an action on one.
_FOLLOWING = (_Kind.TOOK_IN, _Kind.MADE_BY_SPLIT, _Kind.GAVE_UP)


@dataclass(frozen=True)
class Line:
    """One line. The sentence is `who`, `text`, `other` (a link, may be None), `tail`.

    `of`: the merged bucket whose history it is from, None for the bucket itself. `undo`: the batch
    that takes it back, None where that is not possible any more; it touches `touches` buckets.
    """

    who: str
    text: str
    other: Bucket | None
    tail: str
    why: str
    when: datetime
    undone: bool
    of: Bucket | None
    undo: uuid.UUID | None
    touches: int


def bucket_history(bucket: Bucket, *, most: int | None = None) -> tuple[Line, ...]:
    """Newest first, at most so many, with the lines of what was merged into it.

    Seven queries, and one for each level of merges. What can be undone is told from the present
    state, without trying.
    """
    tree = [bucket.pk, *_merged_ids(bucket)]
    events = list(
        BucketEvent.objects.filter(bucket__in=tree)
        .select_related("who", "other", "bucket")
        .order_by("-created_at", "-id")[:most]
    )
    state = _State.of(bucket, events)
    return tuple(_line(bucket, event, state) for event in events)


def sentence(event: BucketEvent) -> tuple[str, str]:
    """What happened, before and after the link to the other bucket."""
    if "undo_of" in event.details:
        original = BucketEvent(
            kind=event.kind,
            before=event.after,
            after=event.before,
            details={name: one for name, one in event.details.items() if name != "undo_of"},
            other=event.other,
        )
        text, tail = sentence(original)
        return f"took back: {text}", tail
    return _SENTENCES.get(_Kind(event.kind), _plain)(event)


# ----------------------------------------------------------------------------------- sentences
def _plain(event: BucketEvent) -> tuple[str, str]:
    """A kind that has no sentence of its own."""
    return f"{_Kind(event.kind).label.lower()}: {_cut(event.after)}", ""


def _status(event: BucketEvent) -> tuple[str, str]:
    if event.after == _S.FALSE_ALARM and event.details.get("false_alarm"):
        kind = Bucket.FalseAlarm(event.details["false_alarm"]).label.lower()
        return f"judged it a false alarm: {kind}", ""
    if event.after == _S.DUPLICATE and event.other is not None:
        return "judged it a duplicate of", ""
    said = {
        _S.CONFIRMED: "confirmed the bug",
        _S.FALSE_ALARM: "judged it a false alarm",
        _S.DUPLICATE: "judged it a duplicate",
        _S.KNOWN_LIMIT: "accepted it as a known limit",
        _S.NEEDS_WORK: "said that it needs work",
        _S.NEW: "made it new again",
        _S.REPORTED: "marked it as reported",
        _S.FIXED: "marked it as fixed",
    }.get(_S(event.after), f"set the status to {event.after}")
    before = _S(event.before).label.lower() if event.before else ""
    return said, f"(it was {before})" if before and before != "new" else ""


def _assignee(event: BucketEvent) -> tuple[str, str]:
    if not event.after:
        return f"took it from {event.before}", ""
    return f"gave it to {event.after}", f"(it was {event.before}'s)" if event.before else ""


def _labels(event: BucketEvent) -> tuple[str, str]:
    verb, name = ("added", event.after) if event.after else ("removed", event.before)
    return f"{verb} the label {name}", ""


def _took_in(event: BucketEvent) -> tuple[str, str]:
    told = event.details
    decided = [_S(told["status"]).label.lower()] if told.get("status", "new") != "new" else []
    decided += [f"assigned to {told['assignee']}"] if told.get("assignee") else []
    decided += [f"reason: {told['reason']}"] if told.get("reason") else []
    return f"brought {_findings(told)} here from", f"({', '.join(decided)})" if decided else ""


def _rule(event: BucketEvent) -> tuple[str, str]:
    parts, told = event.details["after"], event.details
    moved = f"{told['entered']} came, {told['left']} left"
    if not parts:
        return "lifted its rule", f"({moved})"
    said = ", ".join(f"{name} is {_cut(str(value))}" for name, value in parts.items())
    return f"set its rule: {said}", f"({moved})"


def _suppression(event: BucketEvent) -> tuple[str, str]:
    count = event.details.get("buckets", 0)
    also = f", which holds {count} other bucket{'s' if count != 1 else ''} too" if count else ""
    return f"suppressed new findings {event.after}{also}", ""


def _findings(details: Mapping[str, Any]) -> str:
    count = details.get("findings", 0)
    return "1 finding" if count == 1 else f"{count} findings"


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"


_SENTENCES: Mapping[_Kind, Callable[[BucketEvent], tuple[str, str]]] = {
    _Kind.CREATED: lambda event: ("opened the bucket", ""),
    _Kind.STATUS: _status,
    _Kind.ASSIGNEE: _assignee,
    _Kind.LABELS: _labels,
    _Kind.NOTE: lambda event: (f"wrote a note: {_cut(event.after)}", ""),
    _Kind.NOTE_EDITED: lambda event: (f"changed a note: {_cut(event.after)}", ""),
    _Kind.NOTE_DELETED: lambda event: ("deleted a note", ""),
    _Kind.FLAG: lambda event: (f"raised the flag “{event.after}”", ""),
    _Kind.FLAG_CLEARED: lambda event: (f"looked, and took down the flag “{event.before}”", ""),
    _Kind.REPORT: lambda event: (f"worked on a report: {event.after}", ""),
    _Kind.RERUN: lambda event: (f"ran its script again: {_cut(event.after)}", ""),
    _Kind.MERGED: lambda event: (f"merged it, with {_findings(event.details)}, into", ""),
    _Kind.SPLIT: lambda event: (f"split {_findings(event.details)} off into", ""),
    _Kind.MADE_BY_SPLIT: lambda event: (f"split {_findings(event.details)} off", ""),
    _Kind.TOOK_IN: _took_in,
    _Kind.GAVE_UP: lambda event: (f"moved {_findings(event.details)} by a rule to", ""),
    _Kind.RULE: _rule,
    _Kind.SUPPRESSION: _suppression,
    _Kind.SUPPRESSION_LIFTED: lambda event: ("lifted the suppression", ""),
    _Kind.SUPPRESSION_EXPIRY: lambda event: (
        f"moved the end of the suppression from {event.before} to {event.after}",
        "",
    ),
}


# ------------------------------------------------------------------------- what can be undone
@dataclass(frozen=True)
class _State:
    """What the present state is told from: see `bucket_history`."""

    bucket: Bucket
    labels: frozenset[str]
    deletions: frozenset[uuid.UUID | None]
    rule: Mapping[str, str]
    suppressions: Mapping[int, Suppression]
    touches: Mapping[uuid.UUID, int]
    newest: frozenset[int]

    @classmethod
    def of(cls, bucket: Bucket, events: Sequence[BucketEvent]) -> _State:
        rule = GroupingRule.objects.filter(bucket=bucket, active=True).first()
        known = Suppression.objects.filter(bucket=bucket)
        batches = {event.batch for event in events if event.who_id is not None}
        touched = BucketEvent.objects.filter(batch__in=batches, undone=False).exclude(
            kind__in=_FOLLOWING
        )
        return cls(
            bucket=bucket,
            labels=frozenset(bucket.labels.values_list("name", flat=True)),
            deletions=frozenset(
                batch for batch in bucket.notes.values_list("deleted_in", flat=True) if batch
            ),
            rule=dict(rule.parts) if rule else {},
            suppressions={one.pk: one for one in known},
            touches=_buckets_of(touched.order_by().values_list("batch", "bucket").distinct()),
            newest=frozenset(_newest(events)),
        )

    def allows(self, event: BucketEvent) -> bool:
        """Whether undoing its batch would take this event back."""
        if event.undone or event.who_id is None or "undo_of" in event.details:
            return False
        mine, other = event.bucket_id == self.bucket.pk, event.other
        match event.kind:
            case _Kind.STATUS:
                return mine and event.pk in self.newest and self.bucket.status == event.after
            case _Kind.ASSIGNEE:
                now = self.bucket.assignee.get_username() if self.bucket.assignee else ""
                return mine and event.pk in self.newest and now == event.after
            case _Kind.LABELS:
                return mine and (not event.after or event.after in self.labels)
            case _Kind.NOTE_DELETED:
                return event.batch in self.deletions
            case _Kind.MERGED:
                return event.bucket.merged_by_id == event.pk and event.other == self.bucket
            case _Kind.SPLIT:
                return mine and other is not None and other.merged_into_id is None
            case _Kind.RULE:
                return mine and self.rule == event.details["after"]
            case _Kind.SUPPRESSION:
                return mine and self._in_force(event)
            case _Kind.SUPPRESSION_LIFTED:
                return mine and event.pk in self.newest and not self._in_force(event)
            case _Kind.SUPPRESSION_EXPIRY:
                return mine and event.pk in self.newest and self._in_force(event)
        return False

    def _in_force(self, event: BucketEvent) -> bool:
        found = self.suppressions.get(event.details.get("suppression", 0))
        return found is not None and found.lifted_at is None


def _newest(events: Sequence[BucketEvent]) -> Iterable[int]:
    """The newest line of each kind in each bucket that stands; `events` come newest first."""
    seen: set[tuple[int, str]] = set()
    for event in events:
        if event.undone or "undo_of" in event.details:
            continue
        if (event.bucket_id, event.kind) not in seen:
            seen.add((event.bucket_id, event.kind))
            yield event.pk


def _buckets_of(pairs: Iterable[tuple[uuid.UUID, int]]) -> Mapping[uuid.UUID, int]:
    return Counter(batch for batch, _ in pairs)


def _merged_ids(bucket: Bucket) -> list[int]:
    found: list[int] = []
    fresh = [bucket.pk]
    while fresh:
        inside = Bucket.with_merged.filter(merged_into__in=fresh)
        fresh = list(inside.values_list("pk", flat=True))
        found += fresh
    return found


def _line(bucket: Bucket, event: BucketEvent, state: _State) -> Line:
    text, tail = sentence(event)
    return Line(
        who=event.who.get_username() if event.who else "the engine",
        text=text,
        other=event.other,
        tail=tail,
        why="" if event.why == "Undone." else event.why,
        when=event.created_at,
        undone=event.undone,
        of=event.bucket if event.bucket_id != bucket.pk else None,
        undo=event.batch if state.allows(event) else None,
        touches=state.touches.get(event.batch, 1),
    )
