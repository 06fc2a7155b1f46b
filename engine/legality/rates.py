"""Rates of the experiment, with positive = illegal, and their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.constraints import KINDS
from engine.legality.record import Row

__all__ = ["CONFIGURATIONS", "Rate", "Rates", "interval", "rates_of"]

_STRUCTURE = "structure"
CONFIGURATIONS: Mapping[str, frozenset[str]] = {
    "full": frozenset(),
    "w/o input": frozenset({"input"}),
    "w/o internal": frozenset({"internal"}),
    "w/o output": frozenset({"output"}),
    "w/o all": frozenset({*KINDS, _STRUCTURE}),
}
"""Kinds of constraints that are switched off, by configuration."""


def interval(hits: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in per cent; the whole range where nothing was seen."""
    if not total:
        return 0.0, 100.0
    z = 1.959964
    share, square = hits / total, z * z / total
    middle = share + square / 2
    spread = z * math.sqrt(share * (1 - share) / total + square / (4 * total))
    low, high = ((middle + sign * spread) / (1 + square) for sign in (-1, 1))
    return 100 * max(low, 0.0), 100 * min(high, 1.0)


@dataclass(frozen=True)
class Rate:
    """`hits` of `total`."""

    hits: int
    total: int

    @property
    def percent(self) -> float | None:
        return 100 * self.hits / self.total if self.total else None

    @property
    def text(self) -> str:
        if self.percent is None:
            return "-"
        low, high = interval(self.hits, self.total)
        return f"{self.percent:.1f} [{low:.1f}, {high:.1f}]"

    def to_json(self) -> dict[str, object]:
        return {
            "hits": self.hits,
            "total": self.total,
            "percent": self.percent,
            "interval": interval(self.hits, self.total),
        }


@dataclass(frozen=True)
class Rates:
    """One configuration. TN: legal and retained; FN: illegal and retained; FP: legal and rejected;
    TP: illegal and rejected."""

    configuration: str
    tn: int
    fn: int
    fp: int
    tp: int

    @property
    def figures(self) -> dict[str, Rate]:
        retained, rejected = self.tn + self.fn, self.fp + self.tp
        illegal, legal = self.tp + self.fn, self.tn + self.fp
        return {
            "retention": Rate(retained, retained + rejected),
            "legal mutant rate": Rate(self.tn, retained),
            "precision": Rate(self.tp, rejected),
            "recall": Rate(self.tp, illegal),
            "false-rejection rate": Rate(self.fp, legal),
            "leakage": Rate(self.fn, illegal),
        }

    def to_json(self) -> dict[str, object]:
        counts = {"TN": self.tn, "FN": self.fn, "FP": self.fp, "TP": self.tp}
        figures = {name: rate.to_json() for name, rate in self.figures.items()}
        return {"configuration": self.configuration, **counts, **figures}


def rates_of(rows: Iterable[Row]) -> list[Rates]:
    """Every configuration over the same candidates; those that no framework supports are out."""
    judged = [row for row in rows if row.legal is not None]
    found = []
    for name, off in CONFIGURATIONS.items():
        pairs = [(bool(row.legal), row.rejected(off)) for row in judged]
        tn, fn, fp, tp = (
            pairs.count(one) for one in ((True, False), (False, False), (True, True), (False, True))
        )
        found.append(Rates(name, tn, fn, fp, tp))
    return found
