"""What pages show of a report's tracker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from triage.models import Following, PastAddress, Report, SitePause, UpstreamAnswer
from triage.upstream.sites import SITES, reference_in

__all__ = ["Panel", "Pause", "open_pauses", "upstream_panel"]

_ANSWERS = 12


@dataclass(frozen=True)
class Panel:
    """`observed`: the tracker's state in our words; `disagrees`: we say something else.

    `original`: address and status of what it duplicates, and our own report of that, if any.
    `is_due`: it is asked soon, so that the page should look again.
    """

    following: Following | None = None
    observed: Report.Status | None = None
    original: str = ""
    original_observed: Report.Status | None = None
    original_report: Report | None = None
    has_moved: bool = False
    past: Sequence[PastAddress] = ()
    answers: Sequence[UpstreamAnswer] = ()
    pause: SitePause | None = None
    site: str = ""
    is_due: bool = False

    @property
    def disagrees(self) -> bool:
        following = self.following
        return (
            following is not None
            and self.observed is not None
            and following.report.status != self.observed
        )


def upstream_panel(report: Report, *, now: datetime | None = None) -> Panel:
    """Of one report, the newest answers first. Five queries at most."""
    now = now or timezone.now()
    following: Following | None = getattr(report, "following", None)
    if following is None:
        return Panel(past=list(report.past_addresses.all()))
    pause = SitePause.objects.filter(site=following.site, until__gt=now).first()
    original = following.duplicate_of
    linked = reference_in(report.upstream_url)
    current = reference_in(following.address)
    return Panel(
        following=following,
        observed=_status(following.observed),
        original=original,
        original_observed=_status(following.original_observed),
        original_report=Report.objects.filter(upstream_url=original).first() if original else None,
        has_moved=linked is not None and linked != current,
        past=list(report.past_addresses.all()),
        answers=list(report.answers.all()[:_ANSWERS]),
        pause=pause,
        site=SITES[following.site].title,
        is_due=pause is None and following.next_at is not None and following.next_at <= now,
    )


@dataclass(frozen=True)
class Pause:
    """A tracker that limits requests. `title`: its name; `why`: what it said."""

    site: str
    title: str
    until: datetime
    why: str


def open_pauses(*, now: datetime | None = None) -> list[Pause]:
    """Trackers that want to be left alone for now. One query."""
    rows = SitePause.objects.filter(until__gt=now or timezone.now()).order_by("site")
    return [Pause(one.site, SITES[one.site].title, one.until, one.why) for one in rows]


def _status(value: str) -> Report.Status | None:
    return Report.Status(value) if value else None
