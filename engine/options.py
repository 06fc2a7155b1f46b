"""What a campaign is asked to do: options, presets, and what a seed needs of a worker."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import BadInput
from engine.executors.modes import MODES
from engine.executors.pool import GIB
from engine.mutators.spec import POOLS
from engine.ops.spec import OPS
from engine.seeds import seed_digest, seed_scale
from engine.selection import policy

__all__ = ["PRESETS", "Options", "address_space"]


@dataclass(frozen=True)
class Options:
    """What a campaign is asked to do.

    `seed`: a shipped one, or the path of a case file. `seed_digest`: of the file that is meant, ""
    for whatever it holds. `pool`: which mutators may be tried ("full", "CG": ideas of the
    computation graph, "TFG": ideas of the flow through it). `ops`: operators of which every
    mutation must involve one (see `engine.candidates`); none for any. `window`: greatest number of
    nodes that are run for one mutant. `stack`: greatest number of mutations in one mutant.
    `costly_share`: share of the rounds that also run modes marked costly (inductor); they are
    screened by the cheaper compiled modes first. `chain_nodes`: how far a chain may outgrow its
    seed before it starts again from it. `minimise_seconds`: budget of one minimisation.
    """

    seed: str
    rounds: int
    modes: tuple[str, ...] = (
        "torch-eager",
        "torch-aot",
        "torch-inductor",
        "mindspore-pynative",
        "mindspore-graph",
    )
    policy: str = "linucb"
    pool: str = "full"
    ops: tuple[str, ...] = ()
    random_seed: int = 0
    window: int = 10
    stack: int = 3
    costly_share: float = 0.3
    chain_nodes: int = 40
    minimise_seconds: float = 60.0
    seed_digest: str = ""

    def __post_init__(self) -> None:
        unknown = [mode for mode in self.modes if mode not in MODES]
        if unknown:
            raise BadInput("mode", seen=repr(unknown[0]), expected=", ".join(MODES))
        if not self.modes:
            raise BadInput("modes", seen="none", expected=f"some of {', '.join(MODES)}")
        if self.rounds < 1:
            raise BadInput("rounds", seen=self.rounds, expected="at least 1")
        if self.pool not in POOLS:
            raise BadInput("pool", seen=repr(self.pool), expected=" or ".join(POOLS))
        strange = [one for one in self.ops if one not in OPS]
        if strange:
            raise BadInput("operator", seen=repr(strange[0]), expected="one of `flowmut ops`")
        seed_scale(self.seed)
        if self.seed_digest not in ("", found := seed_digest(self.seed)):
            raise BadInput(
                f"seed {self.seed}", seen=f"content {found[:12]}", expected=self.seed_digest[:12]
            )
        policy(self.policy)


PRESETS: dict[str, dict[str, object]] = {
    "quick-look": {"rounds": 60, "policy": "linucb", "costly_share": 0.2, "minimise_seconds": 45.0},
    "thorough": {"rounds": 2000, "policy": "linucb", "costly_share": 0.3},
    "baseline-random": {"rounds": 500, "policy": "random"},
}


def address_space(seed: str) -> int:
    """Bytes that a worker may map for a seed: models at full scale carry their weights."""
    return (16 if seed_scale(seed) == "full" else 4) * GIB
