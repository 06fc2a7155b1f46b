"""What a campaign can be made of: seeds, modes, policies, and presets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from campaigns.models import Campaign
from engine.executors.modes import MODES
from engine.options import Options
from engine.seeds import SEEDS
from engine.selection import POLICIES

__all__ = [
    "PRESETS",
    "Preset",
    "mode_names",
    "policy_names",
    "preset_named",
    "preset_seeds",
    "seed_names",
]


@dataclass(frozen=True)
class Preset:
    """Sensible values of the form. `seeds`: how many are ticked at first, None for all of them.

    Compact seeds only: a full one takes gigabytes of memory and minutes for each round.
    """

    key: str
    title: str
    what: str
    seeds: int | None
    rounds: int
    policy: str = "linucb"
    # The engine's own choice of modes.
    modes: tuple[str, ...] = Options.modes


PRESETS: Mapping[str, Preset] = {
    preset.key: preset
    for preset in (
        Preset(
            Campaign.Preset.QUICK_LOOK,
            "Quick look",
            "Every compact seed and mode, for minutes: what is there to find?",
            seeds=None,
            rounds=60,
        ),
        Preset(
            Campaign.Preset.OVERNIGHT,
            "Overnight",
            "Every compact seed and mode, for many hours.",
            seeds=None,
            rounds=2000,
        ),
        Preset(
            Campaign.Preset.ONE_SEED,
            "One seed",
            "One model in depth.",
            seeds=1,
            rounds=500,
        ),
    )
}


def seed_names() -> list[str]:
    """Names of the seeds that the engine ships, compact ones first."""
    return sorted(SEEDS, key=lambda name: (SEEDS[name].scale, name))


def mode_names() -> list[str]:
    """Names of the modes, in the engine's order."""
    return list(MODES)


def policy_names() -> list[str]:
    """Names of the selection policies."""
    return sorted(POLICIES)


def preset_named(key: str) -> Preset:
    """The preset, or the quick look where there is none of that name."""
    return PRESETS.get(key, PRESETS[Campaign.Preset.QUICK_LOOK])


def preset_seeds(preset: Preset) -> list[str]:
    """Seeds that the form ticks at first."""
    return [name for name in seed_names() if SEEDS[name].scale == "compact"][: preset.seeds]
