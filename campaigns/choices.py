"""What a campaign can be made of: seeds, modes, policies, and presets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from campaigns.models import Campaign
from engine.selection import POLICIES

__all__ = [
    "MODES",
    "PRESETS",
    "Mode",
    "Preset",
    "mode_names",
    "policy_names",
    "preset_seeds",
    "seed_names",
]


@dataclass(frozen=True)
class Mode:
    """A way to run a mutant, as the form explains it."""

    name: str
    framework: str
    meaning: str


# The form's words for the modes; their behaviour is the engine's.
MODES: tuple[Mode, ...] = (
    Mode("torch-eager", "PyTorch", "operator by operator"),
    Mode("torch-eager-f64", "PyTorch", "in float64: referee of gradients"),
    Mode("torch-aot", "PyTorch", "torch.compile, backend aot_eager"),
    Mode("torch-inductor", "PyTorch", "torch.compile, backend inductor; needs g++"),
    Mode("mindspore-pynative", "MindSpore", "operator by operator"),
    Mode("mindspore-graph", "MindSpore", "compiled graph"),
    Mode("numpy", "NumPy", "float64 reference"),
)


@dataclass(frozen=True)
class Preset:
    """Sensible values of the form. `seeds`: how many are ticked at first, None for all."""

    key: str
    title: str
    what: str
    seeds: int | None
    modes: tuple[str, ...]
    policy: str
    rounds: int


_EVERYWHERE = (
    "torch-eager",
    "torch-aot",
    "torch-inductor",
    "mindspore-pynative",
    "mindspore-graph",
)

PRESETS: Mapping[str, Preset] = {
    preset.key: preset
    for preset in (
        Preset(
            Campaign.Preset.QUICK_LOOK,
            "Quick look",
            "Some seeds, every mode, a few minutes: what is there to find?",
            4,
            _EVERYWHERE,
            "linucb",
            60,
        ),
        Preset(
            Campaign.Preset.OVERNIGHT,
            "Overnight",
            "All seeds and modes, for many hours on several cores.",
            None,
            _EVERYWHERE,
            "linucb",
            2000,
        ),
        Preset(
            Campaign.Preset.ONE_SEED,
            "One seed",
            "One model in depth.",
            1,
            _EVERYWHERE,
            "linucb",
            500,
        ),
    )
}


def seed_names() -> list[str]:
    """Names of the seeds that the engine ships."""
    folder = files("engine.seeds") / "data"
    return sorted(
        one.name.removesuffix(".flow") for one in folder.iterdir() if one.name.endswith(".flow")
    )


def mode_names() -> list[str]:
    return [mode.name for mode in MODES]


def policy_names() -> list[str]:
    return sorted(POLICIES)


def preset_seeds(preset: Preset) -> list[str]:
    """Seeds that the form ticks at first."""
    return seed_names()[: preset.seeds]
