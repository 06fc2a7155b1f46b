"""What of the reports asks for a person: proposals, silence, questions, fixes that did not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Q
from django.utils import timezone

from triage.models import Following, Report, Rerun, Tracker

__all__ = ["SILENT_DAYS", "Kind", "Reminder", "reminders"]

# MindSpore's help desk closes a question that nobody answers for so long.
SILENT_DAYS = 14
_WARN_DAYS = 7
_DRAFT_DAYS = 7
_HELP_DESK = "mindspore-assistant"
_LOST = {"gone", "not_found"}
_MANY_FAILURES = 3
_S = Report.Status
_OVER = {_S.FIX_CLAIMED, _S.REJECTED, _S.DUPLICATE}
_SETTLED = {_S.FIXED, _S.REJECTED, _S.DUPLICATE}


class Kind(StrEnum):
    """Why somebody is reminded; the most pressing first."""

    PROPOSED = "status proposed"
    STILL_FAILS = "closed, still fails"
    ANSWER = "waits for us"
    SILENT = "silent"
    LOST = "cannot be followed"
    VERIFY = "to verify"
    DRAFT = "draft"


@dataclass(frozen=True)
class Reminder:
    """One thing to do. `since`: from when it waits."""

    kind: Kind
    report: Report
    text: str
    since: datetime


def reminders(*, now: datetime | None = None) -> tuple[Reminder, ...]:
    """All of them, the most pressing kind first, in each what waits longest. Two queries."""
    now = now or timezone.now()
    asks = Q(proposed="") & Q(status__in=_SETTLED) & (Q(following=None) | Q(following__problem=""))
    rows = list(
        Report.objects.select_related("bucket", "following")
        .exclude(asks & ~Q(following__observed__in=_OVER))
        .order_by("updated_at", "id")
    )
    failing = _failing_since_closed(rows)
    found = [one for report in rows for one in _of(report, failing, now)]
    order = list(Kind)
    return tuple(sorted(found, key=lambda one: (order.index(one.kind), one.since)))


def _of(report: Report, failing: Mapping[int, Rerun], now: datetime) -> Iterator[Reminder]:
    following = _following(report)
    if report.proposed:
        text = f"{report.get_proposed_display()}? {report.proposed_why}"
        yield Reminder(Kind.PROPOSED, report, text, report.proposed_at or report.updated_at)
    if report.status == _S.DRAFT:
        if now - report.updated_at >= timedelta(days=_DRAFT_DAYS):
            days = (now - report.updated_at).days
            text = f"Drafted, and not filed for {days} days. File it, or say why not."
            yield Reminder(Kind.DRAFT, report, text, report.updated_at)
        return
    rerun = failing.get(report.pk)
    if rerun is not None and rerun.ended_at is not None:
        text = f"Upstream is done with it, and here it {rerun.words}. Say so there."
        yield Reminder(Kind.STILL_FAILS, report, text, rerun.ended_at)
    elif report.status == _S.FIX_CLAIMED:
        text = "Upstream says that it is fixed. Run it with a version that has the fix."
        yield Reminder(Kind.VERIFY, report, text, report.updated_at)
    if following is None:
        if report.status == _S.NEEDS_INFO:
            yield Reminder(Kind.ANSWER, report, "Upstream asks for more.", report.updated_at)
        return
    if following.problem_kind in _LOST or following.failures >= _MANY_FAILURES:
        since = following.seen_at or report.updated_at
        yield Reminder(Kind.LOST, report, following.problem, since)
    if report.status not in _SETTLED and following.observed not in _OVER:
        yield from _waiting(report, following, now)


def _waiting(report: Report, following: Following, now: datetime) -> Iterator[Reminder]:
    """An open issue: who is to speak next, and how long nobody has."""
    last = following.last_activity or report.updated_at
    silent = (now - last).days
    is_asked = _S.NEEDS_INFO in {report.status, following.observed}
    if _HELP_DESK in following.labels and following.awaits_author:
        left = SILENT_DAYS - silent
        if left <= _WARN_DAYS:
            when = f"in {left} days" if left > 1 else "in a day" if left == 1 else "any time now"
            text = f"The help desk asked {silent} days ago; unanswered, it is closed {when}."
            yield Reminder(Kind.ANSWER, report, text, last)
            return
    if is_asked:
        yield Reminder(Kind.ANSWER, report, "Upstream asks for more. Answer it there.", last)
    elif report.tracker == Tracker.MINDSPORE and silent >= SILENT_DAYS:
        text = f"Nobody has said anything for {silent} days. Ask there how it goes."
        yield Reminder(Kind.SILENT, report, text, last)


def _failing_since_closed(rows: Sequence[Report]) -> Mapping[int, Rerun]:
    """The newest run of the bucket's scripts that ended after upstream was done with it, where it
    reproduced the failure. By report. One query."""
    closed = {one.pk: _closed_at(one) for one in rows}
    buckets = {one.bucket_id for one in rows if closed[one.pk] is not None}
    newest: dict[int, Rerun] = {}
    runs = Rerun.objects.filter(finding__bucket__in=buckets, state=Rerun.State.DONE)
    for rerun in runs.select_related("finding").order_by("ended_at", "id"):
        newest[rerun.finding.bucket_id] = rerun
    return {
        one.pk: last
        for one in rows
        if (when := closed[one.pk]) is not None
        and (last := newest.get(one.bucket_id)) is not None
        and last.ended_at is not None
        and last.ended_at > when
        and last.reproduced
    }


def _closed_at(report: Report) -> datetime | None:
    following = _following(report)
    if following is not None and following.observed in _OVER:
        return following.observed_at
    if following is None and report.status == _S.FIX_CLAIMED:
        return report.updated_at
    return None


def _following(report: Report) -> Following | None:
    found: Following | None = getattr(report, "following", None)
    return found
