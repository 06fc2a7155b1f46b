"""Statuses that machines propose for reports. Only a person takes one over.

A tracker that says something else than we do, or a retest that contradicts us, changes nothing
here: it leaves a proposal, which is shown until a person takes it over or keeps what is.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from triage.models import Report
from triage.reporting import MOVES, move_report, note_report
from triage.services import MoveRefusedError

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["keep_status", "propose_status", "take_over", "withdraw_proposal"]

_WHY_LENGTH = 500
_FIELDS = ["proposed", "proposed_by", "proposed_why", "proposed_at"]


@transaction.atomic
def propose_status(
    report: Report, *, to: str, by: Report.Proposer, why: str, now: datetime | None = None
) -> bool:
    """Ask a person to move the report; whether that is news. The status stays.

    What the table of moves does not allow from the present status is not proposed.
    """
    now = now or timezone.now()
    locked = Report.objects.select_for_update().get(pk=report.pk)
    if to not in MOVES[locked.status] or locked.proposed == to:
        return False
    before = locked.proposed
    _set(locked, to, by, why[:_WHY_LENGTH], now)
    note_report(locked, "proposed", before, to, who=None, why=why, now=now)
    report.refresh_from_db(fields=_FIELDS)
    return True


@transaction.atomic
def withdraw_proposal(report: Report, *, by: Report.Proposer) -> None:
    """The machine that proposed a status no longer sees grounds for it."""
    locked = Report.objects.select_for_update().get(pk=report.pk)
    if locked.proposed and locked.proposed_by == by:
        note_report(locked, "withdrawn", locked.proposed, "", who=None)
        _set(locked, "", Report.Proposer.NOBODY, "", None)
        report.refresh_from_db(fields=_FIELDS)


@transaction.atomic
def take_over(report: Report, *, to: str, who: User) -> Report:
    """Move the report to the proposed status; `to` is the one that the person saw.

    Raises `MoveRefusedError` where the table of moves says no, or another is proposed by now.
    """
    locked = Report.objects.select_for_update().get(pk=report.pk)
    if locked.proposed != to:
        raise MoveRefusedError("Another status is proposed by now. Look again.")
    return move_report(locked, to=to, who=who, why=locked.proposed_why)


@transaction.atomic
def keep_status(report: Report, *, who: User, why: str = "") -> None:
    """A person has looked, and the status stays as it is."""
    locked = Report.objects.select_for_update().get(pk=report.pk)
    if locked.proposed:
        note_report(locked, "kept", locked.proposed, locked.status, who=who, why=why)
        _set(locked, "", Report.Proposer.NOBODY, "", None)
        report.refresh_from_db(fields=_FIELDS)


def _set(report: Report, to: str, by: Report.Proposer, why: str, now: datetime | None) -> None:
    report.proposed, report.proposed_by = to, by
    report.proposed_why, report.proposed_at = why, now
    report.save(update_fields=_FIELDS)
