"""The overview: how many bugs, how it went, what needs a person, what runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from campaigns.attention import (
    halted_campaigns,
    live_campaigns,
    silent_workers,
    unusable_environments,
)
from campaigns.figures import SYMPTOM_COLOURS, Figure, Series, bar_figure, line_figure
from campaigns.trends import RoundCounts, first_campaign_at, rounds_by_ten_minutes
from flowmut_web.period import Period
from triage.attention import flagged_buckets, unjudged_buckets
from triage.reminders import reminders
from triage.scoreboard import COLUMNS, scoreboard, total
from triage.tables import FORMATS
from triage.trends import bucket_times, finding_times

__all__ = ["PeriodForm", "show_live", "show_overview"]

_CHOICES = {
    "7": "last 7 days",
    "30": "last 30 days",
    "90": "last 90 days",
    "365": "last year",
    "all": "everything",
}
_DEFAULT = "30"


class PeriodForm(forms.Form):
    """A choice, or dates, which win over it."""

    period = forms.ChoiceField(choices=list(_CHOICES.items()), required=False)
    since = forms.DateField(required=False, label="From")
    until = forms.DateField(required=False, label="To")

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        since, until = data.get("since"), data.get("until")
        if since and until and until < since:
            raise forms.ValidationError("The period ends before it begins.")
        return data

    def chosen(self, *, first: datetime | None, now: datetime) -> Period:
        """The period asked for; it begins no earlier than the first campaign did.

        A form that cannot be understood means the default.
        """
        data = self.cleaned_data if self.is_valid() else {}
        first = min(first or now, now)
        until = now
        if data.get("until"):
            until = _midnight(data["until"] + timedelta(days=1))
        if data.get("since"):
            return Period(min(_midnight(data["since"]), until), until)
        if data.get("until") or data.get("period") == "all":
            return Period(min(first, until), until)
        days = int(data.get("period") or _DEFAULT)
        return Period(max(first, now - timedelta(days=days)), now)


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


@require_safe
def show_overview(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    form, first = PeriodForm(request.GET), first_campaign_at()
    period = form.chosen(first=first, now=now)
    rows = scoreboard(since=period.since, until=period.until)
    context = {
        "form": form,
        "chosen": request.GET.get("period") or _DEFAULT,
        "choices": _CHOICES,
        "period": period,
        "is_new": first is None,
        "columns": COLUMNS,
        "formats": FORMATS.values(),
        "span": urlencode({"since": period.since.isoformat(), "until": period.until.isoformat()}),
        "rows": rows,
        "total": total(rows),
        "figures": _figures(period),
        **_live(now),
    }
    return render(request, "overview/show.html", context)


@require_safe
def show_live(request: HttpRequest) -> HttpResponse:
    """What needs attention and what runs, alone, for polling."""
    return render(request, "overview/live_panel.html", _live(timezone.now()))


def _live(now: datetime) -> dict[str, Any]:
    flagged, unjudged, reminded = flagged_buckets(), unjudged_buckets(), reminders(now=now)
    troubles = {
        "halted": halted_campaigns(now=now),
        "silent": silent_workers(now=now),
        "unusable": unusable_environments(),
    }
    waiting = flagged.count + unjudged.count + len(reminded)
    return {
        "campaigns": live_campaigns(),
        "flagged": flagged,
        "unjudged": unjudged,
        "reminders": reminded,
        **troubles,
        "is_calm": not waiting and not any(troubles.values()),
    }


def _figures(period: Period) -> tuple[tuple[str, Figure], ...]:
    """The charts of trends with their headings, over the parts of the period.

    None where nothing was recorded in it.
    """
    starts = period.starts()
    rounds = {start: RoundCounts() for start in starts}
    for when, one in rounds_by_ten_minutes(period.since, period.until).items():
        # The ten minutes in which the period begins may begin before it.
        rounds[period.start_of(max(when, period.since))] += one
    counts = [rounds[start] for start in starts]
    found: dict[datetime | date, Counter[str]] = {start: Counter() for start in starts}
    for when, symptom in finding_times(period.since, period.until):
        found[period.start_of(when)][symptom] += 1
    totals = [found[start].total() for start in starts]
    opened, settled = (period.running_totals(times) for times in bucket_times())
    if not any(one.rounds for one in counts) and not any(totals):
        return ()
    per = "in ten minutes" if period.unit == "ten minutes" else f"each {period.unit}"
    figures = (
        bar_figure(
            "findings",
            f"Findings {per}, by symptom",
            starts,
            [
                Series(name, [found[start][name] for start in starts], colour)
                for name, colour in SYMPTOM_COLOURS.items()
            ],
        ),
        line_figure(
            "buckets",
            "Buckets open and settled",
            starts,
            [
                Series("wait for a person", _less(opened, settled), "warn"),
                Series("settled", settled, "good"),
            ],
            filled=True,
            note="A bucket is settled from the day a person gave it the status it has now.",
        ),
        line_figure(
            "round-rate",
            "Rounds in an hour of machine time",
            starts,
            [Series("rounds", [one.per_hour(one.rounds) for one in counts])],
        ),
        line_figure(
            "finding-rate",
            "Findings in an hour of machine time",
            starts,
            [
                Series(
                    "findings",
                    [one.per_hour(n) for one, n in zip(counts, totals, strict=True)],
                    "bad",
                )
            ],
            note="Minimising is included; two workers spend two such hours in one.",
        ),
        bar_figure(
            "shares",
            "What became of rounds, per cent",
            starts,
            [
                Series("accepted", [one.share(one.accepted) for one in counts], "good"),
                Series("failing", [one.share(one.failing) for one in counts], "bad"),
                Series(
                    "refused otherwise",
                    [one.share(one.rounds - one.accepted - one.failing) for one in counts],
                    "muted",
                ),
            ],
            note="An accepted mutant is mutated further; a failing one is confirmed and minimised.",
        ),
        bar_figure(
            "rounds",
            f"Rounds {per}",
            starts,
            [Series("rounds", [one.rounds for one in counts])],
        ),
    )
    return tuple((one.title, one) for one in figures if one is not None)


def _less(all_of_them: Sequence[int], some: Sequence[int]) -> list[float]:
    return [whole - part for whole, part in zip(all_of_them, some, strict=True)]
