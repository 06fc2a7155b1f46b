"""Reports and the scoreboard as tables for papers and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import Min, QuerySet
from django.utils import timezone

from triage.models import Report, ReportEvent, UpstreamAnswer
from triage.scoreboard import AGREED, COLUMNS, ScoreRow, total
from triage.tables import Column, Table

__all__ = ["report_table", "score_table"]

_S = Report.Status
# When a report first got there, by people's own moves.
_DATED = (_S.REPORTED, _S.CONFIRMED, _S.FIX_CLAIMED, _S.FIXED, _S.REJECTED, _S.REGRESSED)
_COLUMNS = (
    Column("id", "Id", printed=False),
    Column("title", "Title"),
    Column("status", "Status"),
    Column("tracker", "Tracker"),
    Column("upstream_url", "Issue"),
    Column("symptom", "Symptom"),
    Column("op", "Operator"),
    Column("observed", "Upstream", "our word for what the tracker says"),
    Column("upstream_state", "State", printed=False),
    Column("upstream_reason", "Reason", printed=False),
    Column("upstream_labels", "Labels", printed=False),
    Column("upstream_assignees", "Assignees", printed=False),
    Column("pull_requests", "Pull requests", printed=False),
    Column("duplicate_of", "Duplicate of", printed=False),
    Column("last_activity", "Last activity", printed=False),
    Column("proposed", "Proposed", printed=False),
    Column("upstream_confirmed_at", "Confirmed upstream", printed=False),
    *(Column(f"{one.value}_at", one.label, printed=False) for one in _DATED),
    Column("bucket", "Bucket", printed=False),
    Column("created_by", "By", printed=False),
    Column("created_at", "Drafted", printed=False),
)


def report_table(rows: QuerySet[Report], *, now: datetime | None = None) -> Table:
    """The reports in their order. Three queries."""
    reports = list(rows)
    dates = _dates(reports)
    confirmed = dict(
        UpstreamAnswer.objects.filter(report__in=reports, observed__in=AGREED, is_of_original=False)
        .order_by()
        .values_list("report")
        .annotate(Min("asked_at"))
    )
    when = timezone.localtime(now or timezone.now())
    count = f"{len(reports)} report{'s' if len(reports) != 1 else ''}"
    cells = [_cells(one, dates, confirmed) for one in reports]
    return Table("reports", f"{count}, as of {when:%Y-%m-%d}.", _COLUMNS, cells)


def score_table(rows: Iterable[ScoreRow], *, period: str, now: datetime | None = None) -> Table:
    """Buckets by how far each got. `period`: which are counted, in words."""
    rows = list(rows)
    columns = (
        Column("framework", "Framework"),
        Column("symptom", "Symptom"),
        *(Column(one.name, one.title, one.meaning, is_number=True) for one in COLUMNS),
    )
    cells: list[list[str | int | None]] = [
        [one.framework_name, one.symptom, *(count for _, count in one.cells)] for one in rows
    ]
    cells.append(["Together", "", *total(rows)])
    when = timezone.localtime(now or timezone.now())
    caption = f"Buckets {period}, by how far each has got by {when:%Y-%m-%d}."
    return Table("scoreboard", caption, columns, cells)


def _cells(
    report: Report, dates: Mapping[tuple[int, str], datetime], confirmed: Mapping[int, datetime]
) -> list[str | int | None]:
    following = getattr(report, "following", None)
    bucket = report.bucket
    return [
        str(report.uuid),
        report.title,
        report.get_status_display(),
        report.get_tracker_display(),
        report.upstream_url,
        bucket.get_symptom_display(),
        bucket.op,
        str(_S(following.observed).label) if following and following.observed else "",
        following.state if following else "",
        following.state_reason if following else "",
        ", ".join(following.labels) if following else "",
        ", ".join(following.assignees) if following else "",
        ", ".join(one["url"] for one in following.pulls) if following else "",
        following.duplicate_of if following else "",
        _time(following.last_activity if following else None),
        str(_S(report.proposed).label) if report.proposed else "",
        _time(confirmed.get(report.pk)),
        *(_time(dates.get((report.pk, one.value))) for one in _DATED),
        str(bucket.uuid),
        report.created_by.get_username() if report.created_by else "",
        _time(report.created_at),
    ]


def _dates(reports: list[Report]) -> Mapping[tuple[int, str], datetime]:
    """When each report first came to each status."""
    moves = ReportEvent.objects.filter(report__in=reports, kind="moved").order_by()
    found = moves.values_list("report", "after").annotate(Min("created_at"))
    return {(report, status): when for report, status, when in found}


def _time(when: datetime | None) -> str:
    return when.isoformat(timespec="seconds") if when else ""
