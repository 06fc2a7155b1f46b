"""A period of time in hours, days or weeks: what trends are counted by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from django.utils import timezone

__all__ = ["Period"]

_HOURS_UP_TO = timedelta(days=3)
_DAYS_UP_TO = timedelta(days=120)


@dataclass(frozen=True)
class Period:
    """From `since` up to `until`, both aware; divided so that a chart of it can be read."""

    since: datetime
    until: datetime

    @property
    def unit(self) -> Literal["hour", "day", "week"]:
        length = self.until - self.since
        return "hour" if length <= _HOURS_UP_TO else "day" if length <= _DAYS_UP_TO else "week"

    def start_of(self, when: datetime) -> datetime | date:
        """The hour, day or week of a time, in the site's time zone; weeks begin on Monday."""
        local = timezone.localtime(when)
        if self.unit == "hour":
            return local.replace(minute=0, second=0, microsecond=0)
        day = local.date()
        return day if self.unit == "day" else day - timedelta(days=day.weekday())

    def starts(self) -> tuple[datetime | date, ...]:
        """Every hour, day or week that the period touches, in order."""
        step = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
        found = {
            self.start_of(self.since + number * step[self.unit])
            for number in range((self.until - self.since) // step[self.unit] + 1)
        }
        return tuple(sorted({*found, self.start_of(self.until)}))

    def running_totals(self, times: Iterable[datetime]) -> tuple[int, ...]:
        """How many of the times lie before the end of each part, those before the period too."""
        starts = self.starts()
        counts = Counter(max(starts[0], self.start_of(when)) for when in times if when < self.until)
        return tuple(sum(counts[one] for one in starts[: at + 1]) for at in range(len(starts)))
