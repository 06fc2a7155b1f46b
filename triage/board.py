"""The board: reports as cards in columns by status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from triage.models import Report
from triage.reporting import allowed_moves

__all__ = ["Card", "Lane", "lanes"]

_MOST = 25  # cards in a column; the table has all


@dataclass(frozen=True)
class Card:
    """A report, and where it may go from here."""

    report: Report
    moves: tuple[Report.Status, ...]


@dataclass(frozen=True)
class Lane:
    """A column. `count` is of all its reports, of which `cards` are the first."""

    status: Report.Status
    cards: tuple[Card, ...]
    count: int

    @property
    def left(self) -> int:
        return self.count - len(self.cards)


def lanes(reports: Iterable[Report]) -> tuple[Lane, ...]:
    """One for each status, empty ones too, in the order of the life cycle."""
    rows: dict[str, list[Report]] = {status: [] for status in Report.Status}
    for report in reports:
        rows[report.status].append(report)
    return tuple(
        Lane(
            status,
            tuple(Card(one, tuple(allowed_moves(one.status))) for one in rows[status][:_MOST]),
            len(rows[status]),
        )
        for status in Report.Status
    )
