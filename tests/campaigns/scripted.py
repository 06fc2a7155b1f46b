"""What stands for the engine at the process boundary: events as written, from the checkpoint on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from campaigns.models import Campaign
from campaigns.services import create_campaign
from engine.events import CampaignFinished, CampaignStarted, Event, FindingFound, RoundFinished
from engine.executors.pool import Pool
from engine.finding import Finding, ModeAnswer, Reproduction, Symptom
from engine.options import Options

SEED = "convnextv2_tiny_compact"
GRAPH = """case 1

graph small
  input x: float32[2] = normal(seed=0, mean=0.0, std=1.0)
  v0: float32[2] = relu(x)
  return v0

plan
  call
  check values
"""


def campaign(*, rounds: int = 3, shards: int = 1, **fields: object) -> Campaign:
    """A pending campaign of a shipped seed."""
    values: dict[str, object] = {
        "name": "Scripted",
        "seeds": [SEED] * shards,
        "modes": ["torch-eager"],
        "policy": "random",
        "random_seed": 0,
        "rounds": rounds,
        **fields,
    }
    return create_campaign(**values)  # type: ignore[arg-type]


def round_event(number: int, **fields: object) -> RoundFinished:
    """A round as the engine tells it."""
    digest = hashlib.sha256(f"graph {number}".encode()).hexdigest()
    values: dict[str, object] = {
        "round": number,
        "mutator": "swap",
        "variant": "left",
        "site": {"nodes": ["v0"]},
        "accepted": number % 2 == 0,
        "verdict": "pass",
        "reason": "all modes agree",
        "parent": digest,
        "digest": digest,
        "nodes": 1,
        "rejected": {"kernel too large": 2},
        "refused": {"grow.kernel": {"kernel too large": 2}},
        "statuses": {"torch-eager": "ok"},
        "reward": 0.5,
        "novel": 1,
        "executions": 3,
        "seconds": 0.25,
        "checkpoint": {"format": 1, "next_round": number + 1, "graph": digest},
        "graph_text": GRAPH,
        **fields,
    }
    return RoundFinished(**values)  # type: ignore[arg-type]


def finding(number: int = 0, *, key: str = "key", symptom: Symptom = Symptom.CRASH) -> Finding:
    """A finding of a round."""
    return Finding(
        symptom=symptom,
        accused_framework="torch",
        accused_modes=("torch-eager",),
        accused_op="relu",
        title="relu raises",
        verdict="torch-eager raises where the others answer.",
        key=key,
        signature=f"{key}|relu",
        parts={"calls": "relu.method", "dtypes": "float32"},
        seed=SEED,
        round=number,
        mutator="swap",
        lineage=("swap",),
        parent_text=GRAPH,
        mutant_text=GRAPH,
        changed=("v0",),
        minimised_text=GRAPH,
        minimised_nodes=1,
        original_nodes=5,
        divergence="v0",
        answers=(ModeAnswer("torch-eager", "raised", "raised RuntimeError: no"),),
        reproduction=Reproduction(3, 3),
        script="assert False",
        script_output="AssertionError",
        environment={"torch": "2.13.0"},
    )


@dataclass
class ScriptedEngine:
    """An engine whose rounds are known. `before`: called with each round's number before it ends.

    `findings`: by round. `starts`: the `next_round` of every start.
    """

    before: Callable[[int], None] = lambda number: None
    findings: Mapping[int, Sequence[Finding]] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)

    def __call__(
        self,
        options: Options,
        pool: Pool,
        *,
        checkpoint: Mapping[str, object] | None = None,
        graph_text: str = "",
        corpus: Mapping[str, str] | None = None,
        recorded: Callable[[], Collection[str]] = frozenset,
    ) -> Iterator[Event]:
        first = int(str(checkpoint["next_round"])) if checkpoint else 0
        self.starts.append(first)
        yield CampaignStarted(
            seed=options.seed,
            modes=options.modes,
            policy=options.policy,
            random_seed=options.random_seed,
            rounds=options.rounds,
            next_round=first,
            nodes=1,
            candidates=1,
        )
        for number in range(first, options.rounds):
            for one in self.findings.get(number, ()):
                yield FindingFound(number, one)
            self.before(number)
            yield round_event(number)
        yield CampaignFinished(options.rounds, 0, "all rounds are done", 0.0)
