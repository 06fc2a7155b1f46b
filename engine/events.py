"""Events that a campaign yields, in order. Each is JSON-able; a consumer records them.

A campaign can be stopped after any event. `RoundFinished.checkpoint` is enough to go on: the state
*after* that round, so that a consumer who records a round and its checkpoint in one transaction
loses at most the round in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

from engine.finding import Finding

__all__ = [
    "CampaignFinished",
    "CampaignStarted",
    "Event",
    "FindingFound",
    "RoundFinished",
    "to_json",
]


@dataclass(frozen=True)
class CampaignStarted:
    """First event of every start, also of a resumed one (`next_round` over 0)."""

    seed: str
    modes: tuple[str, ...]
    policy: str
    random_seed: int
    rounds: int
    next_round: int
    nodes: int
    candidates: int


@dataclass(frozen=True)
class FindingFound:
    """A failure of this round, confirmed and minimised. Comes before its `RoundFinished`."""

    round: int
    finding: Finding


@dataclass(frozen=True)
class RoundFinished:
    """One round: one mutant of the chain in its modes.

    `mutator`, `variant`, `site`: of the first mutation; `further`: names of those stacked on it.
    `accepted`: the mutant is legal and became the chain's next seed. `rejected`: reasons of the
    candidates that were tried and refused before this one, with counts; `refused`: the same by the
    mutation's name, name -> reason -> count. `statuses`: mode -> status.
    `verdict`: "pass", "fail", "inconclusive", "flaky" or "rejected". `parent` and `digest`: of the
    whole graphs before and after, which no recorded value is part of. `events_new`: novel trace
    events. `executions`: framework runs spent. `checkpoint`: JSON state after the round.
    `graph_text`: text of the chain's graph when it changed, else "".
    """

    round: int
    mutator: str
    variant: str
    site: Mapping[str, object]
    accepted: bool
    verdict: str
    reason: str
    parent: str
    digest: str
    nodes: int
    rejected: Mapping[str, int]
    statuses: Mapping[str, str]
    reward: float
    novel: int
    executions: int
    seconds: float
    checkpoint: Mapping[str, object] = field(default_factory=dict)
    graph_text: str = ""
    further: tuple[str, ...] = ()
    refused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class CampaignFinished:
    """Last event: the rounds asked for are done, or nothing is left to try (`reason`)."""

    rounds: int
    findings: int
    reason: str
    seconds: float


Event: TypeAlias = "CampaignStarted | FindingFound | RoundFinished | CampaignFinished"


def to_json(event: Event) -> dict[str, object]:
    """The event as JSON data, with its kind under "event"."""
    return {"event": type(event).__name__, **asdict(event)}
