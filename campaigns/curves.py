"""Curves of a campaign: cumulative counts over time, and means by round. One query for both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, IntegerField, Max, Q, Sum

from campaigns.models import Campaign, Mutant

__all__ = ["Curves", "OverRounds", "OverTime", "curves"]

# Of each shard so many groups of rounds are read, whatever its length.
_GROUPS = 200
_POINTS_OF_TIME = 120
_POINTS_OF_ROUNDS = 40
# Fewer rounds make a share that jumps between nothing and all.
_LEAST_ROUNDS = 5


@dataclass(frozen=True)
class OverTime:
    """Counts of everything up to and including `when`."""

    when: datetime
    rounds: int
    accepted: int
    failing: int
    found: int


@dataclass(frozen=True)
class OverRounds:
    """Rounds `first` and a few after it, of all shards.

    `accepted`: their share, from 0 to 1. `reward`: their mean. `rounds`, `found` and `seconds`:
    of everything up to here.
    """

    first: int
    accepted: float
    reward: float
    rounds: int
    found: int
    seconds: float


@dataclass(frozen=True)
class Curves:
    """Both, oldest first."""

    time: tuple[OverTime, ...]
    rounds: tuple[OverRounds, ...]


@dataclass(frozen=True)
class _Group:
    """Neighbouring rounds of one shard, with their sums; `when`: the last of them."""

    place: int
    when: datetime
    rounds: int
    accepted: int
    failing: int
    found: int
    reward: float
    seconds: float


def curves(campaign: Campaign, *, rounds: int) -> Curves:
    """`rounds`: how far the furthest shard is. One query, of at most 200 rows for each shard."""
    size = max(1, -(-rounds // _GROUPS))
    # Division of integers, which databases do fast; truncating times is slow in SQLite.
    place = F("round") / size
    counted = (
        Mutant.objects.filter(shard__campaign=campaign)
        .annotate(place=place)
        .order_by()
        .values("shard", "place")
        .annotate(
            when=Max("created_at"),
            count=Count("id"),
            took=Count("id", filter=Q(accepted=True), output_field=IntegerField()),
            failing=Count("id", filter=Q(verdict=Mutant.Verdict.FAIL)),
            found=Sum("findings"),
            gain=Sum("reward"),
            spent=Sum("seconds"),
        )
        .values_list("place", "when", "count", "took", "failing", "found", "gain", "spent")
    )
    groups = [_Group(*one) for one in counted]
    return Curves(_over_time(groups), _over_rounds(groups, size, rounds))


def _over_time(groups: Iterable[_Group]) -> tuple[OverTime, ...]:
    rows = []
    rounds = accepted = failing = found = 0
    for one in sorted(groups, key=lambda group: (group.when, group.place)):
        rounds += one.rounds
        accepted += one.accepted
        failing += one.failing
        found += one.found
        rows.append(OverTime(one.when, rounds, accepted, failing, found))
    return _thinned(rows)


def _thinned(rows: Sequence[OverTime]) -> tuple[OverTime, ...]:
    """The last row of each of many equal stretches of time, and the first of all."""
    if len(rows) <= _POINTS_OF_TIME:
        return tuple(rows)
    start, end = rows[0].when, rows[-1].when
    stretch = (end - start) / _POINTS_OF_TIME
    last = {int((one.when - start) / stretch) if stretch else 0: one for one in rows}
    return (rows[0], *last.values())


def _over_rounds(groups: Iterable[_Group], size: int, rounds: int) -> tuple[OverRounds, ...]:
    wanted = max(_LEAST_ROUNDS, -(-rounds // _POINTS_OF_ROUNDS))
    together = -(-wanted // size)
    bins: dict[int, list[_Group]] = defaultdict(list)
    for one in groups:
        bins[one.place // together].append(one)
    rows, count, found, seconds = [], 0, 0, 0.0
    for place in sorted(bins):
        inside = bins[place]
        here = sum(one.rounds for one in inside)
        count += here
        found += sum(one.found for one in inside)
        seconds += sum(one.seconds for one in inside)
        accepted = sum(one.accepted for one in inside) / here
        reward = sum(one.reward for one in inside) / here
        rows.append(OverRounds(place * together * size, accepted, reward, count, found, seconds))
    return tuple(rows)
