"""How mutations did in all recorded rounds: the live statistics of the catalogue.

A round may hold several mutations, the first in columns and those stacked on it in a JSON list; its
outcome counts for each of them. The lists are taken apart by the database: the ORM has no join
with the elements of a list, so these are two statements of plain SQL, for both databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection
from django.db.models import Sum

from campaigns.models import Mutant, Refusal

__all__ = ["Usage", "mutation_usage", "newest_of", "outcomes_of", "refusals_of", "rounds_by_id"]

# Label and outcome of every mutation of every round.
_APPLIED = """
WITH applied AS (
  SELECT CASE variant WHEN '' THEN mutator ELSE mutator || '.' || variant END AS label,
         id, accepted, verdict, reason, reward, digest, parent
  FROM campaigns_mutant WHERE mutator <> ''
  UNION ALL
  SELECT one.value, m.id, m.accepted, m.verdict, m.reason, m.reward, m.digest, m.parent
  FROM campaigns_mutant AS m, {elements}(m.further) AS {one}
)
"""
_USAGE = """
SELECT label, COUNT(*), COUNT(CASE WHEN accepted THEN 1 END),
       COUNT(CASE WHEN verdict = 'fail' THEN 1 END),
       COUNT(CASE WHEN verdict = 'flaky' THEN 1 END),
       COUNT(CASE WHEN verdict = 'inconclusive' THEN 1 END),
       AVG(reward),
       COALESCE(MAX(CASE WHEN accepted AND digest <> parent THEN id END), 0),
       COALESCE(MAX(CASE WHEN verdict = 'pass' AND digest <> parent THEN id END), 0)
FROM applied GROUP BY label
"""
_OUTCOMES = """
SELECT reason, COUNT(*) FROM applied
WHERE NOT accepted AND label IN ({labels}) GROUP BY reason ORDER BY COUNT(*) DESC, reason LIMIT 12
"""
_NEWEST = """
SELECT DISTINCT id FROM applied WHERE label IN ({labels}) ORDER BY id DESC LIMIT 10
"""


@dataclass(frozen=True)
class Usage:
    """What became of the rounds that hold a mutation.

    `rounds`: how many ran; `refused`: candidates that were refused and not run. `reward`: mean of
    the policy's reward. `accepted_id`: the newest round whose mutant was accepted and another graph
    than its parent, 0 where there is none; `passed_id`: the newest that passed so.
    """

    rounds: int = 0
    accepted: int = 0
    failing: int = 0
    flaky: int = 0
    inconclusive: int = 0
    reward: float | None = None
    accepted_id: int = 0
    passed_id: int = 0
    refused: int = 0

    @classmethod
    def together(cls, parts: Sequence[Usage]) -> Usage:
        """The sum; rewards are weighted by rounds."""
        rounds = sum(one.rounds for one in parts)
        earned = sum((one.reward or 0.0) * one.rounds for one in parts)
        return cls(
            rounds,
            sum(one.accepted for one in parts),
            sum(one.failing for one in parts),
            sum(one.flaky for one in parts),
            sum(one.inconclusive for one in parts),
            earned / rounds if rounds else None,
            max((one.accepted_id for one in parts), default=0),
            max((one.passed_id for one in parts), default=0),
            sum(one.refused for one in parts),
        )


def _statement(text: str) -> str:
    if connection.vendor == "postgresql":
        names = {"elements": "jsonb_array_elements_text", "one": "one(value)"}
    else:
        names = {"elements": "json_each", "one": "one"}
    return _APPLIED.format(**names) + text


def mutation_usage() -> Mapping[str, Usage]:
    """Statistics of every mutation that ran or was refused, by its name. Two queries."""
    with connection.cursor() as cursor:
        cursor.execute(_statement(_USAGE))
        found = {row[0]: Usage(*row[1:]) for row in cursor.fetchall()}
    refused = Refusal.objects.values_list("mutation").annotate(total=Sum("count")).order_by()
    for label, total in refused:
        found[label] = replace(found.get(label, Usage()), refused=total)
    return found


def outcomes_of(labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Why mutants of these mutations were not accepted once they had run, commonest first."""
    return tuple(_rows_of(_OUTCOMES, labels))


def newest_of(labels: Sequence[str]) -> list[Mutant]:
    """The newest rounds that hold one of these mutations, newest first. Two queries."""
    found = rounds_by_id(pk for (pk,) in _rows_of(_NEWEST, labels))
    return [found[pk] for pk in sorted(found, reverse=True)]


def _rows_of(text: str, labels: Sequence[str]) -> list[tuple[Any, ...]]:
    marks = ", ".join(["%s"] * len(labels))
    with connection.cursor() as cursor:
        cursor.execute(_statement(text.format(labels=marks)), list(labels))
        return list(cursor.fetchall())


def refusals_of(labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Why candidates of these mutations were refused before they ran, commonest first."""
    counted = (
        Refusal.objects.filter(mutation__in=labels)
        .values_list("reason")
        .annotate(total=Sum("count"))
        .order_by("-total", "reason")
    )
    return tuple(counted)


def rounds_by_id(ids: Iterable[int]) -> Mapping[int, Mutant]:
    """Rounds with shard and campaign; an id of 0 stands for none. One query."""
    rounds = Mutant.objects.select_related("shard__campaign").order_by()
    return rounds.in_bulk([one for one in ids if one])
