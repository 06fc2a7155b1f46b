"""A period of time in parts, from ten minutes to a week: what trends are counted by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from django.utils import timezone

__all__ = ["Period"]

Unit = Literal["ten minutes", "hour", "day", "week"]

_MINUTES = 10
# The longest period that is counted by each unit; longer ones by weeks.
_UP_TO: tuple[tuple[timedelta, Unit], ...] = (
    (timedelta(hours=6), "ten minutes"),
    (timedelta(days=3), "hour"),
    (timedelta(days=120), "day"),
)
_STEPS: Mapping[Unit, timedelta] = {
    "ten minutes": timedelta(minutes=_MINUTES),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}


@dataclass(frozen=True)
class Period:
    """From `since` up to `until`, both aware; divided so that a chart of it can be read."""

    since: datetime
    until: datetime

    @property
    def unit(self) -> Unit:
        length = self.until - self.since
        return next((unit for limit, unit in _UP_TO if length <= limit), "week")

    def start_of(self, when: datetime) -> datetime | date:
        """The part that a time lies in, in the site's time zone; weeks begin on Monday."""
        local = timezone.localtime(when)
        match self.unit:
            case "ten minutes":
                minute = local.minute - local.minute % _MINUTES
                return local.replace(minute=minute, second=0, microsecond=0)
            case "hour":
                return local.replace(minute=0, second=0, microsecond=0)
            case "day":
                return local.date()
            case "week":
                return local.date() - timedelta(days=local.weekday())

    def starts(self) -> tuple[datetime | date, ...]:
        """Every part that the period touches, in order."""
        step = _STEPS[self.unit]
        found = {
            self.start_of(self.since + number * step)
            for number in range((self.until - self.since) // step + 1)
        }
        return tuple(sorted({*found, self.start_of(self.until)}))

    def running_totals(self, times: Iterable[datetime]) -> tuple[int, ...]:
        """How many of the times lie before the end of each part, those before the period too."""
        starts = self.starts()
        counts = Counter(max(starts[0], self.start_of(when)) for when in times if when < self.until)
        return tuple(sum(counts[one] for one in starts[: at + 1]) for at in range(len(starts)))
