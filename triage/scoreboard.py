"""The scoreboard: buckets by how far each got, by framework and symptom, under one definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q

from triage.models import Bucket, Framework, Report, Symptom

__all__ = ["AGREED", "COLUMNS", "Column", "ScoreRow", "scoreboard", "total"]

_ASIDE = (Bucket.Status.DUPLICATE, Bucket.Status.FALSE_ALARM, Bucket.Status.KNOWN_LIMIT)
_STANDING = tuple(one for one in Bucket.Status if one not in _ASIDE)
_SET_ASIDE = Q(status__in=_ASIDE)
_Reports = Report.Status
# A maintainer agreed at some time: where it went from there takes nothing back.
AGREED = (
    _Reports.CONFIRMED,
    _Reports.IN_PROGRESS,
    _Reports.FIX_CLAIMED,
    _Reports.FIXED,
    _Reports.REGRESSED,
)


@dataclass(frozen=True)
class Column:
    """One step. `meaning` is its definition, for people; `rows` are the buckets it counts.

    `statuses`: those by which the inbox shows the same buckets, where there are such.
    """

    name: str
    title: str
    meaning: str
    rows: Q
    statuses: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The inbox's filter, "" where there is none."""
        return urlencode([("status", one) for one in self.statuses])


# Each of the first five is a part of the one before it.
COLUMNS: tuple[Column, ...] = (
    Column(
        "found", "Found", "no duplicate, no false alarm, no known limit", ~_SET_ASIDE, _STANDING
    ),
    Column(
        "triaged",
        "Triaged",
        "a person gave it a status",
        ~_SET_ASIDE & ~Q(status=Bucket.Status.NEW),
        tuple(one for one in _STANDING if one != Bucket.Status.NEW),
    ),
    Column(
        "reported",
        "Reported",
        "a report of it was filed upstream",
        ~_SET_ASIDE & Q(reports__status__in=[one for one in _Reports if one != _Reports.DRAFT]),
    ),
    Column(
        "confirmed",
        "Confirmed",
        "a maintainer agreed",
        ~_SET_ASIDE & Q(reports__status__in=AGREED),
    ),
    Column(
        "fixed",
        "Fixed",
        "the fix was verified here",
        ~_SET_ASIDE & Q(reports__status=_Reports.FIXED),
    ),
    Column(
        "confirmed_upstream",
        "Confirmed upstream",
        "the tracker's own labels or state said so at some time: actionable, high priority, needs "
        "design, ACCEPTED, work on it, or a fix; see the table of statuses",
        ~_SET_ASIDE
        & Q(reports__answers__observed__in=AGREED, reports__answers__is_of_original=False),
    ),
    Column(
        "fix_claimed",
        "Fix claimed",
        "upstream said that it is fixed, and a person took that over",
        ~_SET_ASIDE
        & Q(reports__status__in=[_Reports.FIX_CLAIMED, _Reports.FIXED, _Reports.REGRESSED]),
    ),
    Column(
        "regressed",
        "Regressed",
        "it came back after a fix",
        ~_SET_ASIDE & Q(reports__status=_Reports.REGRESSED),
    ),
    Column(
        "rejected",
        "Rejected",
        "a maintainer refused it",
        Q(reports__status=_Reports.REJECTED),
    ),
    Column(
        "set_aside",
        "Set aside",
        "judged a duplicate, a false alarm or a known limit, and not counted as found",
        _SET_ASIDE,
        _ASIDE,
    ),
)


@dataclass(frozen=True)
class ScoreRow:
    """Counts of one framework and symptom, by the name of the column."""

    framework: str
    framework_name: str
    symptom: str
    counts: Mapping[str, int]

    @property
    def cells(self) -> tuple[tuple[Column, int], ...]:
        return tuple((column, self.counts[column.name]) for column in COLUMNS)


def scoreboard(
    *, since: datetime | None = None, until: datetime | None = None
) -> tuple[ScoreRow, ...]:
    """Every framework and symptom, zeros too: buckets first seen in that time. One query."""
    rows = Bucket.objects.order_by()
    if since is not None:
        rows = rows.filter(first_seen__gte=since)
    if until is not None:
        rows = rows.filter(first_seen__lt=until)
    counted = rows.values("framework", "symptom").annotate(
        **{column.name: Count("id", filter=column.rows, distinct=True) for column in COLUMNS}
    )
    by_pair: dict[tuple[str, str], Mapping[str, Any]] = {
        (row["framework"], row["symptom"]): row for row in counted
    }
    return tuple(
        _row(framework, symptom, by_pair.get((framework.value, symptom.value), {}))
        for framework in Framework
        for symptom in Symptom
    )


def _row(framework: Framework, symptom: Symptom, row: Mapping[str, Any]) -> ScoreRow:
    return ScoreRow(
        framework.value,
        str(framework.label),
        symptom.value,
        {column.name: row.get(column.name, 0) for column in COLUMNS},
    )


def total(rows: Iterable[ScoreRow]) -> tuple[int, ...]:
    """Sums of the columns."""
    rows = list(rows)
    return tuple(sum(row.counts[column.name] for row in rows) for column in COLUMNS)
