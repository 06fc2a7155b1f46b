"""Readers of campaigns for pages. Each makes a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import (
    Count,
    DateTimeField,
    F,
    FloatField,
    QuerySet,
    Sum,
)
from django.db.models.functions import Cast, Coalesce, Greatest, NullIf
from django.utils import timezone

from campaigns.curves import OverRounds, OverTime, curves
from campaigns.figures import Figure, Series, bar_figure, line_figure
from campaigns.found import Found, findings_reader
from campaigns.models import (
    Campaign,
    CampaignEvent,
    Environment,
    Mutant,
    Shard,
    WorkerHeartbeat,
)

__all__ = [
    "SYMPTOMS",
    "Progress",
    "WorkerRow",
    "campaign_list",
    "campaign_progress",
    "environment_list",
]

# The shard's counter of each symptom, in the order of the method.
SYMPTOMS = ("crash", "numerical", "state", "efficiency")
_RECENT = timedelta(minutes=5)
_ROUNDS_SHOWN = 12
_FINDINGS_SHOWN = 8
_REASONS_DRAWN = 10
_WORKERS_KEPT = timedelta(hours=1)


def _total(column: str) -> Coalesce:
    return Coalesce(Sum(f"shards__{column}"), 0)


def campaign_list() -> QuerySet[Campaign]:
    """Campaigns, newest first, each with what its shards counted. One query.

    `share`: from 0 to 1, by rounds or by time, what is further. `pace`: mean seconds of a round;
    None before the first. `began`: when the first shard was claimed, else when it was made.
    """
    planned = Count("shards") * F("rounds")
    by_rounds = Cast(_total("recorded_rounds"), FloatField()) / NullIf(
        Cast(planned, FloatField()), 0.0
    )
    spent = Coalesce(Sum("shards__seconds"), 0.0)
    by_time = spent / NullIf(Cast(Count("shards") * F("minutes") * 60, FloatField()), 0.0)
    share = Greatest(Coalesce(by_rounds, 0.0), Coalesce(by_time, 0.0))
    pace = spent / NullIf(Cast(_total("recorded_rounds"), FloatField()), 0.0)
    return Campaign.objects.select_related("created_by", "cloned_from").annotate(
        done=_total("recorded_rounds"),
        planned=planned,
        share=share,
        pace=pace,
        spent=spent,
        began=Coalesce("started_at", "created_at", output_field=DateTimeField()),
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


@dataclass(frozen=True)
class WorkerRow:
    """A worker, whether it is alive, and whether it works on the campaign that is shown."""

    worker: WorkerHeartbeat
    is_alive: bool
    is_ours: bool


@dataclass(frozen=True)
class ShardRow:
    """A shard with how much of it is done, from 0 to 100."""

    shard: Shard
    per_cent: int
    pace: float | None


@dataclass(frozen=True)
class Progress:
    """All that the live part of a campaign's page shows."""

    campaign: Campaign
    shards: tuple[Shard, ...]
    workers: tuple[WorkerHeartbeat, ...]
    recent: tuple[Mutant, ...]
    findings: tuple[Found, ...]
    events: tuple[CampaignEvent, ...]
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
    rows: tuple[OverTime, ...]
    by_round: tuple[OverRounds, ...] = field(repr=False)
    now: datetime

    @property
    def found(self) -> int:
        return sum(count for _, count in self.symptoms)

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.campaign.share_done(self.done, self.seconds, shards=len(self.shards))

    @property
    def per_cent(self) -> int:
        return round(100 * self.share)

    @property
    def pace(self) -> float | None:
        """Mean seconds of a round."""
        return self.seconds / self.done if self.done else None

    @property
    def worker_rows(self) -> tuple[WorkerRow, ...]:
        """Ours first, silent ones before those that wait."""
        ours = {shard.pk for shard in self.shards}
        rows = [
            WorkerRow(one, one.is_alive(self.now), one.shard_id in ours) for one in self.workers
        ]
        return tuple(sorted(rows, key=lambda row: (not row.is_ours, row.is_alive, row.worker.name)))

    @property
    def at_work(self) -> int:
        return sum(row.is_alive and row.is_ours for row in self.worker_rows)

    @property
    def alive(self) -> int:
        return sum(row.is_alive for row in self.worker_rows)

    @property
    def silent(self) -> int:
        return sum(not row.is_alive for row in self.worker_rows)

    @property
    def shard_rows(self) -> tuple[ShardRow, ...]:
        """Shards with what is done of each."""
        return tuple(
            ShardRow(
                shard,
                round(100 * self.campaign.share_done(shard.recorded_rounds, shard.seconds)),
                shard.seconds / shard.recorded_rounds if shard.recorded_rounds else None,
            )
            for shard in self.shards
        )

    # ------------------------------------------------------------------------------- figures
    @property
    def time_figure(self) -> Figure | None:
        """Cumulative counts over time."""
        return line_figure(
            "over-time",
            "Rounds, accepted mutants and findings over time, cumulative",
            [row.when for row in self.rows],
            [
                Series("rounds", [row.rounds for row in self.rows]),
                Series("accepted", [row.accepted for row in self.rows]),
                Series("failing rounds", [row.failing for row in self.rows], "warn"),
                Series("findings", [row.found for row in self.rows], "bad"),
            ],
        )

    @property
    def share_figure(self) -> Figure | None:
        """Share of accepted mutants, by round."""
        return line_figure(
            "accepted-share",
            "Accepted mutants, per cent, by round",
            [row.first for row in self.by_round],
            [Series("accepted, %", [round(100 * row.accepted, 1) for row in self.by_round])],
        )

    @property
    def reward_figure(self) -> Figure | None:
        """Mean reward, by round."""
        return line_figure(
            "reward",
            "Mean reward, by round",
            [row.first for row in self.by_round],
            [Series("reward", [round(row.reward, 4) for row in self.by_round], "violet")],
            note="New behaviour of the frameworks and the oracle's signal, per unit of time.",
        )

    @property
    def reason_figure(self) -> Figure | None:
        """The most frequent reasons of refusal."""
        drawn = self.reasons[:_REASONS_DRAWN]
        return bar_figure(
            "reasons",
            "Refused candidates by reason",
            _short([reason for reason, _ in drawn]),
            [Series("refused", [count for _, count in drawn])],
            lying=True,
        )


def _short(reasons: Sequence[str]) -> list[str]:
    """Reasons that leave room for their bars, and stay different: equal labels would share one."""
    short: list[str] = []
    for reason in reasons:
        text = reason if len(reason) <= 44 else f"{reason[:42].rstrip()} …"
        same = sum(one.startswith(text) for one in short)
        short.append(f"{text} ({same + 1})" if same else text)
    return short


def campaign_progress(campaign: Campaign, *, now: datetime | None = None) -> Progress:
    """Where a campaign stands. Seven queries, whatever its size."""
    now = now or timezone.now()
    shards = tuple(campaign.shards.order_by("index").defer("checkpoint"))
    workers = tuple(
        WorkerHeartbeat.objects.filter(last_seen__gt=now - _WORKERS_KEPT).select_related(
            "shard__campaign"
        )
    )
    mutants = Mutant.objects.filter(shard__campaign=campaign)
    recent = tuple(mutants.select_related("shard").order_by("-created_at", "-id")[:_ROUNDS_SHOWN])
    lately = mutants.filter(created_at__gt=now - _RECENT).count()
    done = sum(shard.recorded_rounds for shard in shards)
    seconds = sum(shard.seconds for shard in shards)
    drawn = curves(campaign, rounds=max((one.next_round for one in shards), default=0))
    per_minute = lately / min(_RECENT.total_seconds(), _age(campaign, now)) * 60
    return Progress(
        campaign=campaign,
        shards=shards,
        workers=workers,
        recent=recent,
        findings=tuple(findings_reader().newest(campaign, limit=_FINDINGS_SHOWN)),
        events=tuple(campaign.events.select_related("who").order_by("-created_at", "-id")),
        done=done,
        planned=campaign.rounds * len(shards),
        accepted=sum(shard.accepted for shard in shards),
        rejected=sum(shard.rejected for shard in shards),
        reasons=counted_reasons(shards),
        symptoms=counted_symptoms(shards),
        executions=sum(shard.executions for shard in shards),
        seconds=seconds,
        per_minute=per_minute,
        seconds_left=_left(campaign, shards, per_minute, now),
        rows=drawn.time,
        by_round=drawn.rounds,
        now=now,
    )


def _age(campaign: Campaign, now: datetime) -> float:
    """Seconds since it started, at least one."""
    return max(1.0, (now - (campaign.started_at or campaign.created_at)).total_seconds())


def _left(
    campaign: Campaign, shards: Sequence[Shard], per_minute: float, now: datetime
) -> float | None:
    """Seconds until it is done at the present speed; None where that is not known."""
    if not campaign.is_live() or not per_minute:
        return None
    open_shards = [one for one in shards if one.status in {"queued", "running"}]
    by_rounds = sum(campaign.rounds - one.recorded_rounds for one in open_shards) / per_minute * 60
    if campaign.minutes is None:
        return by_rounds
    running = sum(one.status == "running" for one in open_shards) or 1
    by_time = sum(campaign.minutes * 60 - one.seconds for one in open_shards) / running
    return max(0.0, min(by_rounds, by_time))


def counted_reasons(shards: Sequence[Shard]) -> tuple[tuple[str, int], ...]:
    """Reasons of refusal with their counts, the most frequent first."""
    counted: Counter[str] = Counter()
    for shard in shards:
        counted.update(shard.rejected_reasons)
    return tuple(counted.most_common())


def counted_symptoms(shards: Sequence[Shard]) -> tuple[tuple[str, int], ...]:
    """Every symptom with its findings."""
    return tuple(
        (name, sum(getattr(shard, f"{name}_findings") for shard in shards)) for name in SYMPTOMS
    )
