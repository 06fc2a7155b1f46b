"""What a campaign can be made of: seeds, modes, policies, pools, operators, and presets of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

from campaigns.models import Campaign
from campaigns.seeds import all_seeds, ready_seeds
from engine import mutators  # noqa: F401 - fills MUTATORS
from engine.executors.modes import MODES
from engine.mutators.spec import POOLS, pool_variants
from engine.ops.spec import OPS
from engine.options import Options
from engine.seeds import SEEDS
from engine.selection import POLICIES

__all__ = [
    "PRESETS",
    "Preset",
    "mode_names",
    "op_names",
    "policy_names",
    "policy_texts",
    "pool_texts",
    "preset_named",
    "preset_seeds",
    "seed_names",
    "seed_texts",
]

_POOL_TEXTS = {
    "full": "all mutators",
    "CG": "ideas of the computation graph: layers, attributes, edges",
    "TFG": "ideas of what flows along an edge: dtypes, layouts, aliases, values, call forms",
}


@dataclass(frozen=True)
class Preset:
    """Sensible values of the form. `seeds`: how many are ticked at first, None for all of them.

    Compact seeds only: a full one takes gigabytes of memory and minutes for each round. `hours`:
    for all seeds together on the workers there are, in place of rounds. `what` is a line, `why`
    says when to take it.
    """

    key: str
    title: str
    what: str
    why: str
    seeds: int | None
    rounds: int | None = None
    hours: int | None = None
    policy: str = "linucb"
    # The engine's own choice of modes.
    modes: tuple[str, ...] = Options.modes

    def minutes(self, *, seeds: int, workers: int) -> int | None:
        """Minutes for each seed, so that all of them are done after `hours`."""
        if self.hours is None:
            return None
        side_by_side = min(seeds, workers)
        return max(1, self.hours * 60 * side_by_side // seeds) if seeds else self.hours * 60


PRESETS: Mapping[str, Preset] = {
    preset.key: preset
    for preset in (
        Preset(
            Campaign.Preset.QUICK_LOOK,
            "Quick look",
            "Every compact seed and mode, 20 rounds each.",
            "Take it first, or after an upgrade of a framework: is there something to find at all?",
            seeds=None,
            rounds=20,
        ),
        Preset(
            Campaign.Preset.OVERNIGHT,
            "Overnight",
            "Every compact seed and mode, ten hours in all.",
            "Start it in the evening. Every seed gets the same share of the ten hours, so it is"
            " done in the morning whatever a round takes.",
            seeds=None,
            hours=10,
        ),
        Preset(
            Campaign.Preset.ONE_OPERATOR,
            "One operator",
            "Every mutation involves an operator that you name.",
            "Take it after a change to one operator, or to look for relatives of a bug. A mutation"
            " is tried only where the operator is at its site or reads or makes the tensor it"
            " touches, or if it brings the operator in.",
            seeds=None,
            rounds=200,
        ),
        Preset(
            Campaign.Preset.ONE_SEED,
            "One seed",
            "One model in depth, 500 rounds.",
            "Take it to push a single model far from where it began: long chains reach states that"
            " short ones do not.",
            seeds=1,
            rounds=500,
        ),
    )
}


def seed_names() -> list[str]:
    """Names of the seeds, shipped ones first and of these the compact ones. One query."""
    return [*_shipped_names(), *(one.name for one in ready_seeds())]


def _shipped_names() -> list[str]:
    return sorted(SEEDS, key=lambda name: (SEEDS[name].scale, name))


def seed_texts() -> list[tuple[str, str]]:
    """(name, what a person reads), in the order of `seed_names`. One query."""
    known = all_seeds()
    ordered = [*_shipped_names(), *(name for name in known if name not in SEEDS)]
    return [
        (name, known[name].title + (" (full scale)" if known[name].scale == "full" else ""))
        for name in ordered
    ]


def mode_names() -> list[str]:
    """Names of the modes, in the engine's order."""
    return list(MODES)


def policy_names() -> list[str]:
    """Names of the selection policies."""
    return sorted(POLICIES)


def policy_texts() -> list[tuple[str, str]]:
    """(name, the first sentence of what the engine says of it)."""
    return [(name, _first_sentence(name)) for name in policy_names()]


def _first_sentence(name: str) -> str:
    said = inspect.getdoc(POLICIES[name]) or inspect.getdoc(type(POLICIES[name]())) or ""
    line = " ".join(said.split("\n\n")[0].split())
    return f"{name}: {line}" if line else name


def pool_texts() -> list[tuple[str, str]]:
    """(name, what is in it and how many variants)."""
    return [
        (name, f"{name}: {_POOL_TEXTS[name]} ({len(pool_variants(name))} variants)")
        for name in POOLS
    ]


def op_names() -> list[str]:
    """Names of the operators, in order of the alphabet."""
    return sorted(OPS)


def preset_named(key: str) -> Preset:
    """The preset, or the quick look where there is none of that name."""
    return PRESETS.get(key, PRESETS[Campaign.Preset.QUICK_LOOK])


def preset_seeds(preset: Preset) -> list[str]:
    """Seeds that the form ticks at first."""
    return [name for name in _shipped_names() if SEEDS[name].scale == "compact"][: preset.seeds]
