"""Readers of campaigns for pages. Each makes a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Avg, Count, F, IntegerField, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDay, TruncHour, TruncMinute
from django.utils import timezone

from campaigns.charts import Chart, line_chart
from campaigns.models import Campaign, Environment, Mutant, Shard, WorkerHeartbeat

__all__ = [
    "SYMPTOMS",
    "Progress",
    "Row",
    "campaign_list",
    "campaign_progress",
    "environment_list",
    "seconds_per_round",
]

# The shard's counter of each symptom, in the order of the method.
SYMPTOMS = ("crash", "numerical", "state", "efficiency")
_RECENT = timedelta(minutes=5)
_ROUNDS_SHOWN = 12


def _total(column: str) -> Coalesce:
    return Coalesce(Sum(f"shards__{column}"), 0)


def campaign_list() -> QuerySet[Campaign]:
    """Campaigns, newest first, each with what its shards counted. One query."""
    return Campaign.objects.select_related("created_by").annotate(
        done=_total("recorded_rounds"),
        planned=Count("shards") * F("rounds"),
        accepted=_total("accepted"),
        executions=Coalesce(Sum("shards__executions"), 0),
        crash=_total("crash_findings"),
        numerical=_total("numerical_findings"),
        state=_total("state_findings"),
        efficiency=_total("efficiency_findings"),
        found=F("crash") + F("numerical") + F("state") + F("efficiency"),
    )


def environment_list() -> QuerySet[Environment]:
    """Interpreters that run cases, with what they said. One query."""
    return Environment.objects.order_by("name")


def seconds_per_round() -> float | None:
    """Mean of the newest thousand rounds of any campaign; None before the first. One query."""
    newest = Mutant.objects.order_by("-id").values("seconds")[:1000]
    mean: float | None = newest.aggregate(mean=Avg("seconds"))["mean"]
    return mean


@dataclass(frozen=True)
class Row:
    """One line of the chart's table: counts up to and including `when`."""

    when: datetime
    rounds: int
    accepted: int
    failing: int


@dataclass(frozen=True)
class Progress:
    """All that the live part of a campaign's page shows."""

    shards: tuple[Shard, ...]
    workers: tuple[WorkerHeartbeat, ...]
    recent: tuple[Mutant, ...]
    done: int
    planned: int
    accepted: int
    rejected: int
    reasons: tuple[tuple[str, int], ...]
    symptoms: tuple[tuple[str, int], ...]
    executions: int
    seconds: float
    per_minute: float
    seconds_left: float | None
    rows: tuple[Row, ...]
    chart: Chart | None = field(repr=False)
    now: datetime

    @property
    def found(self) -> int:
        return sum(count for _, count in self.symptoms)

    @property
    def workers_alive(self) -> tuple[tuple[WorkerHeartbeat, bool], ...]:
        return tuple((worker, worker.is_alive(self.now)) for worker in self.workers)


def campaign_progress(campaign: Campaign, *, now: datetime | None = None) -> Progress:
    """Where a campaign stands. Five queries, whatever its size."""
    now = now or timezone.now()
    shards = tuple(campaign.shards.order_by("index").defer("checkpoint"))
    workers = tuple(
        WorkerHeartbeat.objects.filter(
            Q(shard__campaign=campaign) | Q(shard=None), last_seen__gt=now - timedelta(hours=1)
        ).select_related("shard")
    )
    mutants = Mutant.objects.filter(shard__campaign=campaign)
    recent = tuple(mutants.select_related("shard").order_by("-created_at", "-id")[:_ROUNDS_SHOWN])
    lately = mutants.filter(created_at__gt=now - _RECENT).count()
    rows = _rows(campaign, mutants, now)
    done = sum(shard.recorded_rounds for shard in shards)
    planned = campaign.rounds * len(shards)
    per_minute = lately / min(_RECENT.total_seconds(), _age(campaign, now)) * 60
    left = (planned - done) / per_minute * 60 if per_minute and campaign.is_live() else None
    return Progress(
        shards=shards,
        workers=workers,
        recent=recent,
        done=done,
        planned=planned,
        accepted=sum(shard.accepted for shard in shards),
        rejected=sum(shard.rejected for shard in shards),
        reasons=_reasons(shards),
        symptoms=tuple(
            (name, sum(getattr(shard, f"{name}_findings") for shard in shards)) for name in SYMPTOMS
        ),
        executions=sum(shard.executions for shard in shards),
        seconds=sum(shard.seconds for shard in shards),
        per_minute=per_minute,
        seconds_left=left,
        rows=rows,
        chart=_chart(rows),
        now=now,
    )


def _age(campaign: Campaign, now: datetime) -> float:
    """Seconds since it started, at least one."""
    return max(1.0, (now - (campaign.started_at or campaign.created_at)).total_seconds())


def _reasons(shards: tuple[Shard, ...]) -> tuple[tuple[str, int], ...]:
    counted: Counter[str] = Counter()
    for shard in shards:
        counted.update(shard.rejected_reasons)
    return tuple(counted.most_common())


def _rows(campaign: Campaign, mutants: QuerySet[Mutant], now: datetime) -> tuple[Row, ...]:
    """Cumulative counts by minute, hour or day: as fine as a chart can show."""
    end = campaign.finished_at or now
    span = end - (campaign.started_at or campaign.created_at)
    by = TruncMinute if span < timedelta(hours=6) else TruncHour if span.days < 14 else TruncDay
    counted = (
        mutants.annotate(when=by("created_at"))
        .values("when")
        .annotate(
            rounds=Count("id"),
            took=Count("id", filter=Q(accepted=True), output_field=IntegerField()),
            failing=Count("id", filter=Q(verdict=Mutant.Verdict.FAIL)),
        )
        .order_by("when")
    )
    rows, rounds, accepted, failing = [], 0, 0, 0
    for one in counted:
        rounds += one["rounds"]
        accepted += one["took"]
        failing += one["failing"]
        rows.append(Row(one["when"], rounds, accepted, failing))
    return tuple(rows)


def _chart(rows: tuple[Row, ...]) -> Chart | None:
    day = len(rows) > 1 and rows[-1].when - rows[0].when > timedelta(days=1)
    form = "%d %b %H:%M" if day else "%H:%M"
    return line_chart(
        [f"{timezone.localtime(row.when):{form}}" for row in rows],
        [
            ("rounds", [row.rounds for row in rows]),
            ("accepted", [row.accepted for row in rows]),
            ("failing", [row.failing for row in rows]),
        ],
    )
