"""Seeds: the models that are mutated, shipped as text; `load_seed(name)` reads one.

Weights are generated from their initialisers, so a shipped seed needs neither the package that
defined the model nor a download. `importing` brings further models in, as files: a campaign also
starts from the path of a case file (`.flow`) with its blobs beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from engine.errors import BadInput, EngineError
from engine.ir.case import Case
from engine.ir.codec import load_case
from engine.ir.digest import case_digest
from engine.ir.graph import Graph
from engine.ir.text import parse_case
from engine.ir.types import Dense
from engine.ir.values import Array
from engine.ops.typing import check_types

__all__ = [
    "SEEDS",
    "Seed",
    "load_seed",
    "load_start",
    "parameter_count",
    "seed_digest",
    "seed_named",
    "seed_scale",
    "trainable_count",
]

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


_TRANSFORMERS = "Apache-2.0 definition (transformers 4.57.6); generated weights"
_PAPER = "our own definition, from the paper; generated weights"


def _both(
    name: str,
    title: str,
    paper: str,
    task: str,
    licence: str,
    *,
    full: int,
    compact: int,
    constants: tuple[int, int] = (0, 0),
) -> tuple[Seed, Seed]:
    """A model and its compact twin; `constants`: how many of the parameters are not trained."""
    rows = (("full", "", full, constants[0]), ("compact", ", compact", compact, constants[1]))
    whole, small = (
        Seed(
            name if scale == "full" else f"{name}_compact",
            title + suffix,
            paper,
            scale,
            task,
            parameters,
            parameters - fixed,
            licence,
        )
        for scale, suffix, parameters, fixed in rows
    )
    return whole, small


SEEDS: dict[str, Seed] = {
    seed.name: seed
    for pair in (
        _both(
            "convnextv2_tiny",
            "ConvNeXt V2-Tiny",
            "Woo et al., ConvNeXt V2, CVPR 2023, arXiv:2301.00808",
            "image classification",
            _TRANSFORMERS,
            full=28_635_496,
            compact=63_754,
        ),
        _both(
            "swinv2_tiny",
            "Swin Transformer V2-Tiny",
            "Liu et al., Swin Transformer V2, CVPR 2022, arXiv:2111.09883",
            "image classification",
            _TRANSFORMERS,
            full=28_347_154,
            compact=92_740,
        ),
        _both(
            "efficientnetv2_s",
            "EfficientNetV2-S",
            "Tan and Le, EfficientNetV2, ICML 2021, arXiv:2104.00298",
            "image classification",
            _PAPER,
            full=21_458_488,
            compact=24_221,
        ),
        _both(
            "yolov10_s",
            "YOLOv10-S",
            "Wang et al., YOLOv10, NeurIPS 2024, arXiv:2405.14458",
            "object detection",
            _PAPER,
            full=8_128_272,
            compact=89_450,
            constants=(16, 4),
        ),
        _both(
            "rtdetrv2_s",
            "RT-DETRv2-S",
            "Lv et al., RT-DETRv2, 2024, arXiv:2407.17140",
            "object detection",
            _TRANSFORMERS,
            full=20_226_500,
            compact=165_184,
            constants=(42_036, 36),
        ),
        _both(
            "segformer_b1",
            "SegFormer-B1",
            "Xie et al., SegFormer, NeurIPS 2021, arXiv:2105.15203",
            "semantic segmentation",
            _TRANSFORMERS,
            full=13_715_798,
            compact=201_882,
        ),
        _both(
            "mask2former_swin_t",
            "Mask2Former, Swin-T",
            "Cheng et al., Mask2Former, CVPR 2022, arXiv:2112.01527",
            "semantic segmentation",
            _TRANSFORMERS,
            full=47_441_169,
            compact=233_803,
        ),
        _both(
            "modernbert_base",
            "ModernBERT-base",
            "Warner et al., ModernBERT, 2024, arXiv:2412.13663",
            "text classification",
            _TRANSFORMERS,
            full=149_606_402,
            compact=147_714,
        ),
        _both(
            "qwen2_5_0_5b",
            "Qwen2.5-0.5B",
            "Qwen Team, Qwen2.5 Technical Report, 2024, arXiv:2412.15115",
            "causal language modelling",
            _TRANSFORMERS,
            full=494_032_768,
            compact=287_568,
        ),
        _both(
            "efficientad_s",
            "EfficientAD-S",
            "Batzner et al., EfficientAD, WACV 2024, arXiv:2303.14535",
            "anomaly detection",
            _PAPER,
            full=8_057_856,
            compact=33_952,
        ),
        _both(
            "rtmpose_m",
            "RTMPose-m",
            "Jiang et al., RTMPose, 2023, arXiv:2303.07399",
            "keypoint detection",
            _PAPER,
            full=13_587_611,
            compact=38_341,
        ),
        _both(
            "parseq",
            "PARSeq",
            "Bautista and Atienza, PARSeq, ECCV 2022, arXiv:2207.06966",
            "scene text recognition",
            _PAPER,
            full=23_832_671,
            compact=102_493,
        ),
        _both(
            "dit_s_2",
            "DiT-S/2",
            "Peebles and Xie, DiT, ICCV 2023, arXiv:2212.09748",
            "image generation",
            _PAPER,
            full=32_963_360,
            compact=96_704,
            constants=(98_304, 768),
        ),
        _both(
            "swinir_m_x4",
            "SwinIR-M, four times the size",
            "Liang et al., SwinIR, ICCVW 2021, arXiv:2108.10257",
            "image restoration",
            _PAPER,
            full=11_900_199,
            compact=43_095,
        ),
    )
    for seed in pair
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


def load_start(seed: str) -> tuple[Case, dict[str, Array]]:
    """The case that a campaign starts from and its blobs: a shipped seed, or a case file.

    Raises `BadInput` for a name that is neither, and for a file that cannot be read.
    """
    if not _is_file(seed):
        return load_seed(seed), {}
    case, blobs = load_case(Path(seed))
    try:
        check_types(case.graph)
    except EngineError as fault:
        raise BadInput(f"case {seed}", seen=fault, expected="types that fit the calls") from fault
    return case, blobs


def seed_digest(seed: str) -> str:
    """What tells one content of a case file from another; "" for a shipped seed."""
    return case_digest(_text_of(seed)) if _is_file(seed) else ""


def seed_scale(seed: str) -> str:
    """ "full" or "compact": a case file is full where its weights are those of a large model."""
    if not _is_file(seed):
        return seed_named(seed).scale
    return "full" if parameter_count(_text_of(seed).graph) > _MOST_COMPACT else "compact"


_MOST_COMPACT = 5_000_000
"""Parameters that a worker of the usual address space holds beside what it computes."""


def _is_file(seed: str) -> bool:
    return seed not in SEEDS and seed.endswith(".flow")


def _text_of(seed: str) -> Case:
    """The case of a file without its blobs."""
    try:
        return parse_case(Path(seed).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise BadInput(f"seed {seed}", seen=fault, expected="a readable case file") from fault


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
