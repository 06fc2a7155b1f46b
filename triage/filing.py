"""Posting a report through its tracker's API, at most once.

The intent is on record before anything is sent. Whoever comes second, by a double click, or after
a crash between the post and the record of it, finds the intent and looks on the tracker for an
issue of that title by our account; nothing is sent again before a person has said that the first
one did not arrive.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from triage.linting.service import lint_report
from triage.models import Filing, Report
from triage.reporting import link_report, note_report
from triage.trackers import FORMS
from triage.upstream.errors import (
    GoneError,
    NotFoundError,
    RateLimitedError,
    RefusedError,
    UpstreamError,
)
from triage.upstream.sites import client_for, site_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "PATIENCE",
    "FilingRefusedError",
    "abandon_filing",
    "body_of",
    "file_report",
    "look_for",
    "open_filing",
    "why_not",
]

PATIENCE = timedelta(minutes=2)
"""For so long an intent may belong to somebody who is just sending it."""
_CLOCKS = timedelta(minutes=5)  # by how much the tracker's clock may be behind ours
_PROBLEM = 500
# The tracker has said no: nothing arrived. After any other trouble nobody knows.
_REFUSALS = (RefusedError, RateLimitedError, NotFoundError, GoneError)


class FilingRefusedError(Exception):
    """It cannot be posted now, for the reason given."""


def body_of(report: Report) -> str:
    """The fields as the tracker's form puts them together."""
    parts = [
        f"### {field.title}\n\n{text}"
        for field in FORMS[report.form].fields
        if (text := report.fields.get(field.key, "").strip())
    ]
    return "\n\n".join(parts) + "\n"


def open_filing(report: Report) -> Filing | None:
    """What was sent, or may have been."""
    return report.filings.exclude(state=Filing.State.REFUSED).first()


def why_not(report: Report, *, who: User) -> str:
    """Why a person may not post this report through the API; nothing where the person may."""
    if not who.is_staff:
        return "Only administrators post through the API."
    if not site_of(report.tracker).token:
        return f"No token is set for {site_of(report.tracker).title}."
    if report.status != Report.Status.DRAFT or report.upstream_url:
        return "It is filed already."
    return ""


def file_report(report: Report, *, who: User, now: datetime | None = None) -> Filing:
    """Post it, and link it to the issue that comes of it. Waits for the network.

    Raises `FilingRefusedError` where the person may not, the linter objects, or somebody is just
    sending it. Where an earlier attempt may have arrived, that one is looked for instead.
    """
    now = now or timezone.now()
    if reason := why_not(report, who=who):
        raise FilingRefusedError(reason)
    lint = lint_report(report, now=now)
    if not lint.passes:
        raise FilingRefusedError(f"The linter objects; {lint.sentence}.")
    try:
        with transaction.atomic():
            filing = Filing.objects.create(
                report=report, title=report.title, body=body_of(report), who=who, created_at=now
            )
            note_report(report, "filing", "", lint.sentence, who=who)
    except IntegrityError:
        return _of_somebody(report, who, now)
    return _send(filing, who)


def _of_somebody(report: Report, who: User, now: datetime) -> Filing:
    filing = open_filing(report)
    if filing is None:
        raise FilingRefusedError("Somebody was filing it at the same moment. Look again.")
    if filing.state == Filing.State.INTENDED and now - filing.created_at < PATIENCE:
        raise FilingRefusedError(f"{filing.who or 'Somebody'} is just filing it. Look again.")
    return look_for(filing, who=who)


def _send(filing: Filing, who: User) -> Filing:
    client = client_for(filing.report.tracker)
    try:
        issue = client.create(title=filing.title, body=filing.body)
    except _REFUSALS as error:
        return _ended(filing, Filing.State.REFUSED, problem=str(error))
    except UpstreamError as error:
        return look_for(_ended(filing, Filing.State.UNKNOWN, problem=str(error)), who=who)
    return _posted(filing, issue.url, who)


def look_for(filing: Filing, *, who: User) -> Filing:
    """Ask the tracker for an issue of that title by our account; link it where there is one.

    Nothing is sent. Where none is found, nobody knows whether it arrives yet.
    """
    if filing.state == Filing.State.POSTED:
        return filing
    try:
        issue = client_for(filing.report.tracker).filed(
            filing.title, since=filing.created_at - _CLOCKS
        )
    except UpstreamError as error:
        return _ended(filing, Filing.State.UNKNOWN, problem=str(error))
    if issue is not None:
        return _posted(filing, issue.url, who)
    problem = filing.problem or "no answer was recorded when it was sent"
    return _ended(filing, Filing.State.UNKNOWN, problem=problem)


@transaction.atomic
def abandon_filing(filing: Filing, *, who: User, now: datetime | None = None) -> Filing:
    """A person has looked on the tracker: it did not arrive, and may be filed again."""
    now = now or timezone.now()
    locked = Filing.objects.select_for_update().get(pk=filing.pk)
    if locked.state == Filing.State.POSTED:
        raise FilingRefusedError("It did arrive.")
    if now - locked.created_at < PATIENCE:
        raise FilingRefusedError("It may still arrive. Wait two minutes, then look on the tracker.")
    if locked.state != Filing.State.REFUSED:
        note_report(locked.report, "filing given up", "", locked.problem, who=who)
        _ended(locked, Filing.State.REFUSED, problem=locked.problem or "given up by a person")
    return locked


@transaction.atomic
def _ended(filing: Filing, state: Filing.State, *, problem: str) -> Filing:
    """Unless somebody has found it meanwhile."""
    unsettled = Filing.objects.filter(
        pk=filing.pk, state__in=[Filing.State.INTENDED, Filing.State.UNKNOWN]
    )
    unsettled.update(state=state, problem=problem[:_PROBLEM], ended_at=timezone.now())
    filing.refresh_from_db()
    return filing


@transaction.atomic
def _posted(filing: Filing, url: str, who: User) -> Filing:
    """Say where it is, and link the report, where nobody has yet."""
    locked = Filing.objects.select_for_update().get(pk=filing.pk)
    if locked.state != Filing.State.POSTED:
        locked.state, locked.url, locked.problem = Filing.State.POSTED, url, ""
        locked.ended_at = timezone.now()
        locked.save()
        report = Report.objects.select_for_update().get(pk=locked.report_id)
        if not report.upstream_url:
            why = "Posted through the tracker's API."
            link_report(report, url=url, who=locked.who or who, why=why)
    filing.refresh_from_db()
    return filing
