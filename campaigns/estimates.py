"""What a campaign will cost: time, memory and disk, from the rounds that were recorded here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from campaigns.models import HEARTBEAT_STALE, MOST_ROUNDS, Campaign, Shard, WorkerHeartbeat
from campaigns.seeds import seed_scales

__all__ = ["DEFAULT_SECONDS", "DISK_PER_ROUND", "Estimate", "SeedCost", "estimate", "workers_there"]

# Where no round of a seed was recorded yet: what rounds took on a busy machine of two cores.
DEFAULT_SECONDS = {"compact": 8.0, "full": 60.0}
# A worker with both frameworks and their workers, and a compiler now and then.
_SHARD_BYTES = {"compact": 3 << 30, "full": 16 << 30}
# Row of a round, text of its graph, its share of findings.
DISK_PER_ROUND = 12 << 10
_LEAST_ROUNDS = 5  # fewer say nothing of the mean


@dataclass(frozen=True)
class SeedCost:
    """One seed. `seen`: rounds recorded here that the mean is of, 0 where it is the default."""

    seed: str
    seconds_per_round: float
    seen: int
    rounds: int
    scale: str = "compact"

    @property
    def seconds(self) -> float:
        return self.rounds * self.seconds_per_round


@dataclass(frozen=True)
class Estimate:
    """Seconds, bytes and counts. `at_once`: shards side by side, of `workers` that there are.

    `is_alive`: those workers were heard of; else they are what this machine would start.
    """

    seeds: tuple[SeedCost, ...]
    workers: int
    is_alive: bool
    at_once: int
    others: int

    @property
    def rounds(self) -> int:
        return sum(one.rounds for one in self.seeds)

    @property
    def core_seconds(self) -> float:
        return sum(one.seconds for one in self.seeds)

    @property
    def core_hours(self) -> float:
        return self.core_seconds / 3600

    @property
    def wall_seconds(self) -> float:
        """Until the last is done: the work shared out, but no seed is split."""
        longest = max((one.seconds for one in self.seeds), default=0.0)
        return max(longest, self.core_seconds / self.at_once) if self.at_once else 0.0

    @property
    def memory(self) -> int:
        """Bytes, with the greediest seeds side by side."""
        needs = sorted((_SHARD_BYTES[one.scale] for one in self.seeds), reverse=True)
        return sum(needs[: self.at_once])

    @property
    def disk(self) -> int:
        return self.rounds * DISK_PER_ROUND


def estimate(
    seeds: Sequence[str],
    *,
    rounds: int | None,
    minutes: int | None,
    workers: int | None = None,
    now: datetime | None = None,
) -> Estimate:
    """What a campaign of these seeds and limits will take. Four queries."""
    speeds, scales = _speeds(), seed_scales()
    there, is_alive = workers_there(now=now)
    live = [Campaign.Status.PENDING, Campaign.Status.RUNNING]
    return Estimate(
        seeds=tuple(
            _cost(seed, scales.get(seed, "compact"), speeds, rounds, minutes) for seed in seeds
        ),
        workers=there,
        is_alive=is_alive,
        at_once=min(len(seeds), there, workers or there),
        others=Campaign.objects.filter(status__in=live).count(),
    )


def workers_there(*, now: datetime | None = None) -> tuple[int, bool]:
    """Workers that were heard of lately, else those that this machine would start; which it is."""
    since = (now or timezone.now()) - HEARTBEAT_STALE
    alive = WorkerHeartbeat.objects.filter(last_seen__gt=since).count()
    return alive or settings.WORKER_PROCESSES, alive > 0


def _speeds() -> dict[str, tuple[float, int]]:
    """Mean seconds of a round and the number of rounds, by seed."""
    counted = (
        Shard.objects.order_by()
        .values_list("seed")
        .annotate(Sum("seconds"), Sum("recorded_rounds"))
        .filter(recorded_rounds__sum__gte=_LEAST_ROUNDS)
    )
    return {seed: (seconds / rounds, rounds) for seed, seconds, rounds in counted}


def _cost(
    seed: str,
    scale: str,
    speeds: dict[str, tuple[float, int]],
    rounds: int | None,
    minutes: int | None,
) -> SeedCost:
    each, seen = speeds.get(seed, (DEFAULT_SECONDS[scale], 0))
    limit = MOST_ROUNDS if rounds is None else rounds
    if minutes is not None:
        limit = min(limit, max(1, round(minutes * 60 / max(each, 1e-3))))
    return SeedCost(seed, each, seen, limit, scale)
