"""Seeds: the models that are mutated, shipped as text; `load_seed(name)` reads one.

Weights are generated from their initialisers, so a shipped seed needs neither the package that
defined the model nor a download. `importing` brings further models in.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from engine.errors import BadInput
from engine.ir.case import Case
from engine.ir.graph import Graph
from engine.ir.text import parse_case
from engine.ir.types import Dense

__all__ = ["SEEDS", "Seed", "load_seed", "parameter_count", "seed_named", "trainable_count"]

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Seed:
    """A shipped model. `scale`: "full" or "compact" (the same operators and motifs, small).

    `parameters` is the published way of counting: every weight once, tied ones once; `trainable`
    those that receive a gradient. `licence` is of the published definition; no weights are shipped.
    """

    name: str
    title: str
    paper: str
    scale: str
    task: str
    parameters: int
    trainable: int
    licence: str

    @property
    def file(self) -> Path:
        return DATA / f"{self.name}.flow"

    @property
    def twin(self) -> str:
        """The name of the same model at the other scale."""
        suffix = "_compact"
        return self.name + suffix if self.scale == "full" else self.name.removesuffix(suffix)


_CONVNEXT = "Woo et al., ConvNeXt V2, CVPR 2023, arXiv:2301.00808"
_QWEN = "Qwen Team, Qwen2.5 Technical Report, 2024, arXiv:2412.15115"
_LICENCE = "Apache-2.0 definition (transformers 4.57.6); generated weights"

SEEDS: dict[str, Seed] = {
    seed.name: seed
    for seed in (
        Seed(
            "convnextv2_tiny",
            "ConvNeXt V2-Tiny",
            _CONVNEXT,
            "full",
            "image classification",
            28_635_496,
            28_635_496,
            _LICENCE,
        ),
        Seed(
            "convnextv2_tiny_compact",
            "ConvNeXt V2-Tiny, compact",
            _CONVNEXT,
            "compact",
            "image classification",
            63_754,
            63_754,
            _LICENCE,
        ),
        Seed(
            "qwen2_5_0_5b",
            "Qwen2.5-0.5B",
            _QWEN,
            "full",
            "causal language modelling",
            494_032_768,
            494_032_768,
            _LICENCE,
        ),
        Seed(
            "qwen2_5_0_5b_compact",
            "Qwen2.5-0.5B, compact",
            _QWEN,
            "compact",
            "causal language modelling",
            287_568,
            287_568,
            _LICENCE,
        ),
    )
}


def seed_named(name: str) -> Seed:
    """The row of a seed; `BadInput` with the closest names and all names where there is none."""
    if name in SEEDS:
        return SEEDS[name]
    close = get_close_matches(name, SEEDS)
    hint = f"{' or '.join(close)}; all: " if close else "one of "
    raise BadInput("seed", seen=name, expected=hint + ", ".join(sorted(SEEDS)))


def load_seed(name: str) -> Case:
    """The case of a shipped seed, with the plain plan: one call, values and state compared."""
    seed = seed_named(name)
    return parse_case(seed.file.read_text(encoding="utf-8"))


def parameter_count(graph: Graph) -> int:
    """Elements of all weights; nothing is materialised."""
    return sum(_elements(graph, trainable_only=False))


def trainable_count(graph: Graph) -> int:
    """Elements of the weights that receive a gradient."""
    return sum(_elements(graph, trainable_only=True))


def _elements(graph: Graph, *, trainable_only: bool) -> list[int]:
    return [
        one.type.elements
        for one in graph.inputs
        if one.role == "weight"
        and isinstance(one.type, Dense)
        and (one.requires_grad or not trainable_only)
    ]
