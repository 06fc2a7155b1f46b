"""Asking a tracker after a report: one step, that writes down what was said and proposes at most.

Only what is observed is set here. Where it contradicts what people said, a proposal is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from triage.events import raise_flag
from triage.following import (
    claim_following,
    interval_of,
    keep_past_address,
    next_after_problem,
)
from triage.mapping import MappingRule, observed_rule, status_to_propose
from triage.models import Bucket, Following, Report, SitePause, UpstreamAnswer
from triage.proposals import propose_status, withdraw_proposal
from triage.reporting import note_report
from triage.upstream.errors import RateLimitedError, UnreadableError, UpstreamError
from triage.upstream.issue import Part, Reference, UpstreamIssue
from triage.upstream.sites import SITES, address_of, client_at, reference_in

__all__ = ["follow_report"]

_MOST_HOPS = 4
_WORDS_LENGTH = 500
_OVER = {Report.Status.FIX_CLAIMED, Report.Status.REJECTED, Report.Status.DUPLICATE}
_BELIEVED = {Bucket.Status.CONFIRMED, Bucket.Status.REPORTED}


@dataclass(frozen=True)
class _Told:
    """What was said of the issue, and of the one that it duplicates."""

    issue: UpstreamIssue
    original: UpstreamIssue | None = None
    problem: str = ""


def follow_report(following: int, *, due: str, now: datetime | None = None) -> bool:
    """Ask after the report that was due then; whether it was ours to ask.

    No transaction is open meanwhile. A tracker's error is written down, never raised.
    """
    now = now or timezone.now()
    claimed = claim_following(following, due=datetime.fromisoformat(due), now=now)
    if claimed is None:
        return False
    try:
        told = _ask(claimed)
    except UpstreamError as error:
        _record_problem(claimed, error, now=now)
    else:
        _record(claimed, told, now=now)
    return True


# ----------------------------------------------------------------------------------------- asking
def _ask(following: Following) -> _Told:
    ref = reference_in(following.address)
    if ref is None:
        places = ", ".join(site.web for site in SITES.values())
        raise UnreadableError(
            f"{following.address} is on no tracker of this installation ({places})."
        )
    issue = client_at(ref).fetch(ref, known=_known(following.report, following.address))
    if not issue.duplicate_of:
        return _Told(issue)
    try:
        return _Told(issue, _original(following.report, issue))
    except UpstreamError as error:
        return _Told(issue, problem=f"What it duplicates could not be read. {error}")


def _original(report: Report, issue: UpstreamIssue) -> UpstreamIssue | None:
    """The issue at the end of a chain of duplicates; None where it is on no tracker we know.

    A circle ends where it closes.
    """
    seen = {issue.ref}
    found: UpstreamIssue | None = None
    address = issue.duplicate_of
    for _ in range(_MOST_HOPS):
        ref: Reference | None = reference_in(address)
        if ref is None or ref in seen:
            break
        seen.add(ref)
        found = client_at(ref).fetch(ref, known=_known(report, address_of(ref)))
        address = found.duplicate_of
        if not address:
            break
    return found


def _known(report: Report, address: str) -> Mapping[str, Part]:
    """The parts of the last good answer, by whose ETags the next is asked."""
    last = UpstreamAnswer.objects.filter(report=report, address=address, kind="answer").first()
    if last is None:
        return {}
    return {name: Part(one["body"], one["etag"]) for name, one in last.parts.items()}


# ---------------------------------------------------------------------------------- writing it down
@transaction.atomic
def _record(claimed: Following, told: _Told, *, now: datetime) -> None:
    following = _still_ours(claimed)
    if following is None:
        return
    issue, report = told.issue, following.report
    rule = observed_rule(issue, was_fixed=following.was_fixed)
    _store_answer(report, issue, rule.ours, following.address, now=now)
    before, original_before = following.observed, following.original_observed
    if told.original is not None:
        original_rule = observed_rule(told.original, was_fixed=False)
        address = address_of(told.original.ref)
        _store_answer(
            report, told.original, original_rule.ours, address, now=now, is_of_original=True
        )
        following.original_observed = original_rule.ours
    elif not issue.duplicate_of:
        following.original_observed = ""
    _follow_move(following, issue)
    _set_observed(following, issue, rule, now=now)
    following.problem, following.failures = told.problem[:_WORDS_LENGTH], 0
    following.problem_kind = "original" if told.problem else ""
    wait = interval_of(following)
    following.next_at = now + wait if wait is not None else None
    following.save()
    if before != following.observed:
        _tell(following, before, rule, now=now)
    if original_before != following.original_observed:
        _tell_of_original(following, now=now)


@transaction.atomic
def _record_problem(claimed: Following, error: UpstreamError, *, now: datetime) -> None:
    following = _still_ours(claimed)
    if following is None:
        return
    words = str(error)[:_WORDS_LENGTH]
    _store(
        following.report,
        following.address,
        now=now,
        kind=error.kind,
        status=error.status,
        message=words,
        parts={"said": {"body": error.body, "etag": ""}} if error.body else {},
    )
    following.problem, following.problem_kind = words, error.kind
    if isinstance(error, RateLimitedError):
        SitePause.objects.update_or_create(
            site=following.site, defaults={"until": error.retry_at, "why": words}
        )
        following.next_at = error.retry_at
    else:
        following.next_at = next_after_problem(following, error, now=now)
        following.failures += 1
    following.save()


def _still_ours(claimed: Following) -> Following | None:
    """The row, locked; None where it was asked for anew, or linked to another issue, meanwhile."""
    rows = Following.objects.select_for_update(of=("self",)).select_related("report__bucket")
    return rows.filter(pk=claimed.pk, next_at=claimed.next_at).first()


def _store_answer(
    report: Report,
    issue: UpstreamIssue,
    observed: Report.Status,
    address: str,
    *,
    now: datetime,
    is_of_original: bool = False,
) -> None:
    _store(
        report,
        address,
        now=now,
        kind="answer",
        status=200,
        observed=observed,
        state=issue.state,
        state_reason=issue.state_reason,
        labels=list(issue.labels),
        parts={name: asdict(part) for name, part in issue.parts.items()},
        is_of_original=is_of_original,
    )


def _store(report: Report, address: str, *, now: datetime, **said: Any) -> None:
    """A new row, or one more time of the last where it says the same."""
    last = UpstreamAnswer.objects.filter(report=report, address=address).first()
    if last is not None and all(getattr(last, name) == value for name, value in said.items()):
        last.times, last.last_at = last.times + 1, now
        last.save(update_fields=["times", "last_at"])
        return
    UpstreamAnswer.objects.create(report=report, address=address, asked_at=now, last_at=now, **said)


def _follow_move(following: Following, issue: UpstreamIssue) -> None:
    """Where the tracker led us on, we ask there from now on; the person's link stays as it is."""
    if issue.moved_from:
        keep_past_address(following.report, following.address, why="the tracker moved the issue")
        before, following.address = following.address, address_of(issue.ref)
        following.site = issue.ref.site
        note_report(following.report, "led on", before, following.address, who=None)


def _set_observed(
    following: Following, issue: UpstreamIssue, rule: MappingRule, *, now: datetime
) -> None:
    if following.observed != rule.ours:
        following.observed, following.observed_at = rule.ours, now
    following.observed_why = rule.says
    if rule.ours == Report.Status.FIX_CLAIMED and not rule.pull:
        following.was_fixed = True
    elif rule.ours in {Report.Status.REJECTED, Report.Status.DUPLICATE}:
        following.was_fixed = False
    following.title, following.state = issue.title, issue.state
    following.state_reason = issue.state_reason
    following.labels, following.assignees = list(issue.labels), list(issue.assignees)
    following.pulls = [asdict(one) for one in issue.pulls]
    following.awaits_author = issue.awaits_author
    following.last_activity = issue.last_activity
    following.duplicate_of = issue.duplicate_of
    following.seen_at = now


# ------------------------------------------------------------------------------------ telling of it
def _tell(following: Following, before: str, rule: MappingRule, *, now: datetime) -> None:
    """A line of the history; a proposal where it contradicts us; a flag where it is over."""
    report = following.report
    note_report(report, "observed", before, rule.ours, who=None, why=rule.says, now=now)
    proposed = status_to_propose(report.status, rule.ours)
    if proposed is None:
        withdraw_proposal(report, by=Report.Proposer.UPSTREAM)
    else:
        why = f"{SITES[following.site].title} says: {rule.says}."
        propose_status(report, to=proposed, by=Report.Proposer.UPSTREAM, why=why, now=now)
    bucket = report.bucket
    if rule.ours in _OVER and bucket.status in _BELIEVED:
        said = f"Report {report.upstream_id}: {rule.says}."
        raise_flag(bucket, flag=Bucket.Flag.CLOSED_UPSTREAM, why=said, now=now)


def _tell_of_original(following: Following, *, now: datetime) -> None:
    """Whoever holds the report for a duplicate wants to know how the original ends."""
    report, observed = following.report, following.original_observed
    if not observed:
        return
    said = f"The original, {following.duplicate_of}, is {Report.Status(observed).label.lower()}."
    note_report(report, "original", "", observed, who=None, why=said, now=now)
    is_news = report.status == Report.Status.DUPLICATE and observed in _OVER
    if is_news and observed != Report.Status.DUPLICATE:
        propose_status(report, to=observed, by=Report.Proposer.UPSTREAM, why=said, now=now)
