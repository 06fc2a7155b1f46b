"""Two campaigns side by side: what was asked, what came of it, curves, and what both found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from campaigns.curves import OverRounds, curves
from campaigns.figures import Figure, Series, line_figure
from campaigns.found import Shared, findings_reader
from campaigns.models import Campaign, Shard
from campaigns.selectors import SYMPTOMS, counted_reasons, counted_symptoms

__all__ = ["Comparison", "Side", "compare"]

_REASONS_SHOWN = 10


@dataclass(frozen=True)
class Side:
    """One of the two."""

    campaign: Campaign
    shards: tuple[Shard, ...]
    curve: tuple[OverRounds, ...] = field(repr=False)
    buckets: int

    @property
    def rounds(self) -> int:
        return sum(one.recorded_rounds for one in self.shards)

    @property
    def accepted(self) -> int:
        return sum(one.accepted for one in self.shards)

    @property
    def rejected(self) -> int:
        return sum(one.rejected for one in self.shards)

    @property
    def executions(self) -> int:
        return sum(one.executions for one in self.shards)

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.shards)

    @property
    def symptoms(self) -> dict[str, int]:
        return dict(counted_symptoms(self.shards))

    @property
    def found(self) -> int:
        return sum(self.symptoms.values())

    @property
    def reward(self) -> float | None:
        """Mean of the rounds."""
        weights = [after.rounds - before for before, after in self._pairs()]
        total = sum(weights)
        values = zip(weights, self.curve, strict=True)
        return sum(weight * point.reward for weight, point in values) / total if total else None

    def _pairs(self) -> list[tuple[int, OverRounds]]:
        return list(zip([0, *(one.rounds for one in self.curve)], self.curve, strict=False))

    @property
    def label(self) -> str:
        """Its name, which may be the other's too, and what differs for sure."""
        return f"{self.campaign.name} ({self.campaign.random_seed})"


@dataclass(frozen=True)
class Line:
    """One line of a table: the same of both, as text."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        return self.first != self.second


@dataclass(frozen=True)
class Comparison:
    """All that the page of two campaigns shows."""

    first: Side
    second: Side
    shared: Shared

    @property
    def asked(self) -> tuple[Line, ...]:
        """What was asked of each."""
        return tuple(self._line(name, read) for name, read in _ASKED)

    @property
    def differing(self) -> tuple[str, ...]:
        """Names of what was asked otherwise, apart from the random seed."""
        return tuple(one.name for one in self.asked if one.differs and one.name != "Random seed")

    @property
    def outcome(self) -> tuple[Line, ...]:
        """What came of each."""
        return tuple(self._line(name, read) for name, read in _OUTCOME)

    @property
    def by_symptom(self) -> tuple[Line, ...]:
        first, second = self.first.symptoms, self.second.symptoms
        return tuple(Line(name, str(first[name]), str(second[name])) for name in SYMPTOMS)

    @property
    def reasons(self) -> tuple[tuple[str, int, int], ...]:
        """The most frequent reasons of refusal of both together."""
        first, second = (dict(counted_reasons(side.shards)) for side in self._sides)
        both = {name: first.get(name, 0) + second.get(name, 0) for name in (*first, *second)}
        names = sorted(both, key=lambda name: (-both[name], name))[:_REASONS_SHOWN]
        return tuple((name, first.get(name, 0), second.get(name, 0)) for name in names)

    @property
    def _sides(self) -> tuple[Side, Side]:
        return self.first, self.second

    def _line(self, name: str, read: Callable[[Side], str]) -> Line:
        return Line(name, read(self.first), read(self.second))

    # ------------------------------------------------------------------------------- figures
    @property
    def found_by_round(self) -> Figure | None:
        """Cumulative findings over rounds of all seeds."""
        return self._figure(
            "found-by-round",
            "Findings over rounds, cumulative",
            lambda point: float(point.rounds),
            lambda point: float(point.found),
        )

    @property
    def found_by_time(self) -> Figure | None:
        """Cumulative findings over the time spent in rounds."""
        return self._figure(
            "found-by-time",
            "Findings over minutes of work, cumulative",
            lambda point: round(point.seconds / 60, 2),
            lambda point: float(point.found),
            note="Minutes in rounds, of all workers together; waiting is left out.",
        )

    @property
    def accepted_by_round(self) -> Figure | None:
        """Share of accepted mutants over the rounds of a seed."""
        return self._figure(
            "accepted-by-round",
            "Accepted mutants, per cent, by round of a seed",
            lambda point: float(point.first),
            lambda point: round(100 * point.accepted, 1),
        )

    @property
    def reward_by_round(self) -> Figure | None:
        """Mean reward over the rounds of a seed."""
        return self._figure(
            "reward-by-round",
            "Mean reward, by round of a seed",
            lambda point: float(point.first),
            lambda point: round(point.reward, 4),
        )

    def _figure(
        self,
        key: str,
        title: str,
        x: Callable[[OverRounds], float],
        y: Callable[[OverRounds], float],
        *,
        note: str = "",
    ) -> Figure | None:
        curves = [[(x(one), y(one)) for one in side.curve] for side in self._sides]
        places = sorted({place for curve in curves for place, _ in curve})
        series = [
            Series(side.label, _values(places, curve))
            for side, curve in zip(self._sides, curves, strict=True)
        ]
        return line_figure(key, title, places, series, note=note)


def _values(places: Sequence[float], points: Sequence[tuple[float, float]]) -> list[float | None]:
    """The value at each place, between two points on the line that joins them; None outside."""
    if not points:
        return [None] * len(places)
    known, values = zip(*points, strict=True)
    outside = float("nan")
    found = np.interp(places, known, values, left=outside, right=outside)
    return [None if np.isnan(one) else round(float(one), 4) for one in found]


def compare(first: Campaign, second: Campaign) -> Comparison:
    """Both read the same way. Seven queries."""
    shared = findings_reader().shared(first, second)
    return Comparison(
        _side(first, len(shared.only_first) + len(shared.both)),
        _side(second, len(shared.only_second) + len(shared.both)),
        shared,
    )


def _side(campaign: Campaign, buckets: int) -> Side:
    shards = tuple(campaign.shards.order_by("index").defer("checkpoint"))
    furthest = max((one.next_round for one in shards), default=0)
    return Side(campaign, shards, curves(campaign, rounds=furthest).rounds, buckets)


def _limit(campaign: Campaign) -> str:
    parts = [f"{campaign.rounds} rounds"] if campaign.has_round_limit() else []
    parts += [f"{campaign.minutes} minutes"] if campaign.minutes else []
    return " or ".join(parts) + " for each seed"


def _per(part: float, whole: float, form: str) -> str:
    return format(part / whole, form) if whole else "none yet"


_ASKED: tuple[tuple[str, Callable[[Side], str]], ...] = (
    ("Seeds", lambda side: ", ".join(side.campaign.seeds)),
    ("Modes", lambda side: ", ".join(side.campaign.modes)),
    ("Policy", lambda side: side.campaign.policy),
    ("Mutators", lambda side: side.campaign.pool),
    ("Operators", lambda side: ", ".join(side.campaign.ops) or "all"),
    ("Limit", lambda side: _limit(side.campaign)),
    ("Random seed", lambda side: str(side.campaign.random_seed)),
)
_OUTCOME: tuple[tuple[str, Callable[[Side], str]], ...] = (
    ("Rounds", lambda side: f"{side.rounds:,}"),
    ("Accepted mutants", lambda side: _per(100 * side.accepted, side.rounds, ".1f") + " %"),
    ("Refused candidates for a round", lambda side: _per(side.rejected, side.rounds, ".2f")),
    ("Mean reward", lambda side: "none yet" if side.reward is None else f"{side.reward:.3f}"),
    ("Executions", lambda side: f"{side.executions:,}"),
    ("Hours of work", lambda side: f"{side.seconds / 3600:.2f}"),
    ("Seconds for a round", lambda side: _per(side.seconds, side.rounds, ".2f")),
    ("Findings", lambda side: f"{side.found:,}"),
    ("Distinct buckets", lambda side: f"{side.buckets:,}"),
    ("Findings for 100 rounds", lambda side: _per(100 * side.found, side.rounds, ".2f")),
    ("Findings for an hour of work", lambda side: _per(3600 * side.found, side.seconds, ".2f")),
    ("Buckets for an hour of work", lambda side: _per(3600 * side.buckets, side.seconds, ".2f")),
)
