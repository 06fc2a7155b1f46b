"""Rules about what is on record: other reports of ours, known limits, searches, the daily limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from triage.linting.model import Check, Subject, Verdict, broken, holds
from triage.models import Bucket, FindingRecord, Report, ReportEvent
from triage.suppressing import caught_by

__all__ = [
    "SEARCH_FRESH",
    "is_no_known_limit",
    "is_no_own_duplicate",
    "is_within_courtesy",
    "was_searched",
]

SEARCH_FRESH = timedelta(days=7)
"""How old the last search of the tracker may be."""
_DAY = timedelta(days=1)
_LIVE = ~Q(status__in=[Report.Status.DRAFT, Report.Status.REJECTED])


def is_no_own_duplicate(subject: Subject) -> Check:
    """Nothing of ours on that tracker is about the same bucket, or about what it duplicates."""
    report = subject.report
    bucket = report.bucket
    if bucket.status == Bucket.Status.DUPLICATE:
        return broken("its bucket is a duplicate", "report the bucket that it duplicates")
    others = Report.objects.filter(_LIVE, tracker=report.tracker).exclude(pk=report.pk)
    same = Q(bucket=bucket) | Q(bucket__in=bucket.duplicates.all())
    same |= Q(bucket__signature_digest=bucket.signature_digest) | Q(title=report.title)
    found = others.filter(same).first()
    if found is not None:
        seen = f"“{found.title}” ({found.upstream_id or 'no number'}) is filed already"
        return broken(seen, "add to that issue instead of filing another")
    return holds("nothing of ours is filed about it")


def is_no_known_limit(subject: Subject) -> Check:
    """Neither documented, nor dismissed, nor suppressed."""
    bucket = subject.report.bucket
    wanted = "a bug that a person has confirmed"
    if bucket.status in (Bucket.Status.KNOWN_LIMIT, Bucket.Status.FALSE_ALARM):
        return broken(f"its bucket is a {bucket.get_status_display().lower()}", wanted)
    caught = caught_by(_parts(subject.report.finding), now=subject.now)
    if caught is not None:
        return broken(f"the known limit “{caught.reason}” covers it", wanted)
    return holds("no known limit covers it")


def _parts(record: FindingRecord) -> Mapping[str, str]:
    parts: Mapping[str, str] = record.parts
    return parts


def was_searched(subject: Subject) -> Check:
    """A person has asked the tracker whether it knows the bug."""
    last = subject.report.searches.filter(problem="").first()
    wanted = "search the tracker here, and look at what it finds"
    if last is None:
        return Check(Verdict.UNKNOWN, "nobody has searched the tracker from here", wanted)
    note = f"{last.created_at:%Y-%m-%d %H:%M} UTC"
    if subject.now - last.created_at > SEARCH_FRESH:
        return Check(Verdict.UNKNOWN, "the last search is over a week old", wanted, note)
    return holds(f"“{last.query}” found {len(last.issues)}", note)


def filed_lately(tracker: str, *, subject: Subject) -> Sequence[str]:
    """Titles of reports that were filed on a tracker within a day."""
    lately = ReportEvent.objects.filter(
        kind="linked",
        before="",
        created_at__gt=subject.now - _DAY,
        report__tracker=tracker,
    ).exclude(report=subject.report)
    return list(lately.values_list("report__title", flat=True))


def is_within_courtesy(subject: Subject) -> Check:
    """Maintainers read what we file; they are few."""
    limit = settings.REPORTS_A_DAY[subject.report.tracker]
    count = len(filed_lately(subject.report.tracker, subject=subject))
    seen = f"{count} of {limit} filed on {subject.report.get_tracker_display()} within a day"
    if count < limit:
        return holds(seen)
    return broken(seen, f"at most {limit} a day; wait until tomorrow")
