"""Writers of reports: draft, edit, link to the upstream issue, and follow it to its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from triage.drafting.versions import draft_now
from triage.following import begin_following, keep_past_address
from triage.models import Bucket, BucketEvent, FindingRecord, Report, ReportEvent
from triage.services import MOVES as BUCKET_MOVES
from triage.services import MoveRefusedError, move_buckets
from triage.trackers import upstream_id
from triage.versions import VERIFYING, bucket_row

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "MOVES",
    "allowed_moves",
    "draft_report",
    "edit_report",
    "link_report",
    "move_report",
    "note_report",
]

_S = Report.Status
_ENDS = frozenset({_S.REJECTED, _S.DUPLICATE})
# How far upstream may be with an issue that is open, and with one that it says is done.
_OPEN = frozenset({_S.NEEDS_INFO, _S.ROUTED, _S.CONFIRMED, _S.IN_PROGRESS})
_LINE_LENGTH = 500

# From each status, the ones that may follow. A draft leaves by being linked, not by this table, and
# nothing returns to it. A fix is claimed upstream before it is verified here, and what was claimed
# or verified comes back as regressed.
MOVES: Mapping[str, frozenset[str]] = {
    _S.DRAFT: frozenset(),
    _S.REPORTED: _OPEN | {_S.FIX_CLAIMED} | _ENDS,
    _S.NEEDS_INFO: (_OPEN - {_S.NEEDS_INFO}) | {_S.REPORTED, _S.FIX_CLAIMED} | _ENDS,
    _S.ROUTED: (_OPEN - {_S.ROUTED}) | {_S.FIX_CLAIMED} | _ENDS,
    _S.CONFIRMED: (_OPEN - {_S.CONFIRMED}) | {_S.FIX_CLAIMED} | _ENDS,
    _S.IN_PROGRESS: (_OPEN - {_S.IN_PROGRESS}) | {_S.FIX_CLAIMED} | _ENDS,
    _S.FIX_CLAIMED: frozenset({_S.FIXED, _S.REGRESSED, _S.CONFIRMED, _S.IN_PROGRESS}) | _ENDS,
    _S.FIXED: frozenset({_S.REGRESSED}),
    _S.REGRESSED: _OPEN | {_S.FIX_CLAIMED} | _ENDS,
    _S.REJECTED: _OPEN | {_S.REPORTED, _S.FIX_CLAIMED, _S.DUPLICATE},
    _S.DUPLICATE: _OPEN | {_S.REPORTED, _S.FIX_CLAIMED, _S.REJECTED},
}
# A report that a person moves here takes its bucket along, where the bucket may go there.
_BUCKET_FOLLOWS = {
    _S.REPORTED: Bucket.Status.REPORTED,
    _S.FIXED: Bucket.Status.FIXED,
}


@transaction.atomic
def draft_report(record: FindingRecord, *, who: User) -> Report:
    """A new draft in the tracker's form, filled from the finding.

    `TemplateFaultError` where the templates that hold cannot be filled in from it.
    """
    made, version = draft_now(record.finding())
    report = Report.objects.create(
        bucket=record.bucket,
        finding=record,
        tracker=made.form.tracker,
        form=made.form.key,
        title=made.title,
        fields=made.fields,
        template=version,
        created_by=who,
    )
    note_report(report, "drafted", "", f"{made.form.title}, templates of {version}", who=who)
    BucketEvent.objects.create(
        bucket=record.bucket,
        who=who,
        kind=BucketEvent.Kind.REPORT,
        after=f"{report.get_tracker_display()}: draft",
    )
    return report


@transaction.atomic
def edit_report(report: Report, *, title: str, fields: Mapping[str, str], who: User) -> Report:
    """Change the words; the history says which fields changed."""
    changed = [key for key, text in fields.items() if report.fields.get(key) != text]
    if title != report.title:
        changed.insert(0, "title")
    if changed:
        report.title, report.fields = title, {**report.fields, **fields}
        report.updated_at = timezone.now()
        report.save(update_fields=["title", "fields", "updated_at"])
        note_report(report, "edited", "", ", ".join(changed), who=who)
    return report


@transaction.atomic
def link_report(
    report: Report, *, url: str, who: User, kind: str = "linked", why: str = ""
) -> Report:
    """Say where a person filed it. A draft becomes reported, and its bucket too.

    From then on its tracker is asked after it; an address that it had before is kept. `kind`:
    "joined" where the issue was there already.
    """
    before = report.upstream_url
    report.upstream_url, report.upstream_id = url, upstream_id(url)
    report.updated_at = timezone.now()
    was_draft = report.status == _S.DRAFT
    if was_draft:
        report.status = _S.REPORTED
    report.save(update_fields=["upstream_url", "upstream_id", "status", "updated_at"])
    note_report(report, kind, before, url, who=who, why=why)
    if before != url:
        keep_past_address(report, before, why="it was linked anew")
    begin_following(report)
    if was_draft:
        note_report(report, "moved", _S.DRAFT, _S.REPORTED, who=who)
        _take_bucket_along(report, who=who)
    return report


@transaction.atomic
def move_report(report: Report, *, to: str, who: User, why: str = "") -> Report:
    """Give it its next status by `MOVES`; `MoveRefusedError` where the table says no.

    Fixed means verified: a run on a version newer than all that fail says so, or it is refused.
    """
    locked = Report.objects.select_for_update().get(pk=report.pk)
    if to not in MOVES[locked.status]:
        raise MoveRefusedError(
            f"A report that is {locked.get_status_display().lower()} cannot become "
            f"{Report.Status(to).label.lower()}."
        )
    if to == _S.FIXED and bucket_row(locked.bucket).verified is None:
        raise MoveRefusedError(
            f"Nothing has verified the fix yet: that takes {VERIFYING} of {VERIFYING} passes in"
            " fresh processes on a version newer than every one that fails. Run it again there."
        )
    before, locked.status, locked.updated_at = locked.status, to, timezone.now()
    # Whoever moves it has decided: a proposal that stood is answered.
    locked.proposed = locked.proposed_by = locked.proposed_why = ""
    locked.proposed_at = None
    locked.save()
    note_report(locked, "moved", before, to, who=who, why=why)
    _take_bucket_along(locked, who=who)
    return locked


def allowed_moves(status: str) -> list[Report.Status]:
    """Statuses that may follow, in the order of the enum."""
    return [choice for choice in Report.Status if choice in MOVES[status]]


def _take_bucket_along(report: Report, *, who: User) -> None:
    """By way of confirmed where it must: whoever files a report holds the bug for real."""
    to = _BUCKET_FOLLOWS.get(Report.Status(report.status))
    bucket = report.bucket
    if to is None or bucket.status == to:
        return
    why = f"Report {report.upstream_id} is {report.get_status_display().lower()}."
    if to not in BUCKET_MOVES[bucket.status]:
        move_buckets([bucket], to=Bucket.Status.CONFIRMED, who=who, why=why)
        bucket.refresh_from_db()
    move_buckets([bucket], to=to, who=who, why=why)


def note_report(
    report: Report,
    kind: str,
    before: str,
    after: str,
    *,
    who: User | None,
    why: str = "",
    now: datetime | None = None,
) -> ReportEvent:
    """Add a line to its history; texts that are too long are cut. `who`: None for a machine."""
    return ReportEvent.objects.create(
        report=report,
        who=who,
        kind=kind,
        before=before[:_LINE_LENGTH],
        after=after[:_LINE_LENGTH],
        why=why[:_LINE_LENGTH],
        created_at=now or timezone.now(),
    )
