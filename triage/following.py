"""Which reports are followed upstream, and when each is asked after: begun, due, claimed, swept.

The database is the queue: a row is due at `next_at`, and whoever moves that by a conditional update
has it. A worker that dies leaves it due again a few minutes later; a message is only a hint.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from triage.models import Following, PastAddress, Report, SitePause
from triage.upstream.errors import UpstreamError
from triage.upstream.sites import address_of, reference_in

__all__ = [
    "LEASE",
    "TASK",
    "FollowHint",
    "ask_now",
    "begin_following",
    "claim_following",
    "interval_of",
    "keep_past_address",
    "next_after_problem",
    "sweep_following",
]

logger = logging.getLogger(__name__)
TASK = "flowmut.follow_report"  # the task's name in `flowmut_web.tasks`
LEASE = timedelta(minutes=5)  # longer than all requests for one report may take
_SETTLED = timedelta(days=1)
_FIRST_WAIT = timedelta(minutes=5)
_LONGEST_WAIT = timedelta(days=1)
_NO_USE = {"gone", "not_found"}  # asking again soon would not help
_MOST = 20
_OVER = {Report.Status.FIX_CLAIMED, Report.Status.REJECTED, Report.Status.DUPLICATE}


@dataclass(frozen=True)
class FollowHint:
    """What a message says: this row was due then, unless somebody has it by now."""

    following: int
    due: str

    @classmethod
    def of(cls, following: Following) -> FollowHint:
        assert following.next_at is not None
        return cls(following.pk, following.next_at.isoformat())


# ------------------------------------------------------------------------------------- by people
def begin_following(report: Report, *, now: datetime | None = None) -> Following | None:
    """Follow the linked issue from now on; None where its tracker is none that we know.

    What was seen under another address is forgotten here; its raw answers stay.
    """
    ref = reference_in(report.upstream_url)
    address = address_of(ref) if ref is not None else ""
    Following.objects.filter(report=report).exclude(address=address).delete()
    if ref is None:
        return None
    following, _ = Following.objects.get_or_create(
        report=report, defaults={"site": ref.site, "address": address}
    )
    if settings.FOLLOW_MINUTES:
        ask_now(following, now=now)
    return following


def ask_now(following: Following, *, now: datetime | None = None) -> None:
    """A person or a webhook wants to know: it is due at once, unless its tracker is paused."""
    following.next_at = now or timezone.now()
    following.save(update_fields=["next_at"])
    _send_on_commit(following)


def keep_past_address(report: Report, address: str, *, why: str) -> None:
    """Remember an address under which the issue was known."""
    if address:
        PastAddress.objects.get_or_create(report=report, address=address, defaults={"why": why})


def _send_on_commit(following: Following) -> None:
    transaction.on_commit(partial(_send, FollowHint.of(following)))


def _send(hint: FollowHint) -> None:
    """Tell a worker at once; where the broker does not take it, the next sweep does."""
    try:
        current_app.send_task(TASK, (hint.following, hint.due), retry=False)
    except (OperationalError, OSError):
        logger.warning("The broker did not take a report to follow.", exc_info=True)


# ------------------------------------------------------------------------------------ by a worker
def claim_following(
    following: int, *, due: datetime, now: datetime | None = None
) -> Following | None:
    """Take a row that is due; None where it is not to be had, or its tracker is paused."""
    now = now or timezone.now()
    mine = _due(now).filter(pk=following, next_at=due)
    if mine.update(next_at=now + LEASE) != 1:
        return None
    return Following.objects.select_related("report__bucket").get(pk=following)


def interval_of(following: Following) -> timedelta | None:
    """How long until it is asked again after a good answer; None for not by itself.

    Rows differ by up to a tenth, so that not all are due at the same moment.
    """
    if not settings.FOLLOW_MINUTES:
        return None
    usual = timedelta(minutes=settings.FOLLOW_MINUTES)
    is_settled = following.observed in _OVER and following.report.status in (
        *_OVER,
        Report.Status.FIXED,
    )
    chosen = max(usual, _SETTLED) if is_settled else usual
    return chosen * (1 + following.pk % 10 / 100)


def next_after_problem(
    following: Following, error: UpstreamError, *, now: datetime
) -> datetime | None:
    """Later each time, at most a day; a tracker that says when is asked then."""
    if not settings.FOLLOW_MINUTES:
        return None
    if error.kind in _NO_USE:
        return now + _LONGEST_WAIT
    return now + min(_FIRST_WAIT * (1 << min(following.failures, 10)), _LONGEST_WAIT)


# --------------------------------------------------------------------------------------- by sweep
def sweep_following(*, now: datetime | None = None) -> list[FollowHint]:
    """Begin with reports that nobody follows yet; say which are due, the longest due first."""
    now = now or timezone.now()
    for report in _not_followed():
        begin_following(report, now=now)
    return [FollowHint.of(one) for one in _due(now).order_by("next_at", "pk")[:_MOST]]


def _due(now: datetime) -> QuerySet[Following]:
    pauses = SitePause.objects.filter(site=OuterRef("site"), until__gt=now)
    return Following.objects.filter(~Exists(pauses), next_at__lte=now)


def _not_followed() -> Iterable[Report]:
    rows = Report.objects.exclude(upstream_url="").filter(following=None).order_by("pk")
    return [report for report in rows[:_MOST] if reference_in(report.upstream_url) is not None]
