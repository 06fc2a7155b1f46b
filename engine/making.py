"""Makes the shipped seeds again from their published definitions.

    python -m engine.making --python PYTHON --search FOLDER ... [NAME ...]

PYTHON needs torch and transformers; `tests/quality/seed_models.py` has the factories. Needed at
development time only: a shipped seed is text.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from engine.calibration import calibrated
from engine.errors import BadInput
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.graph import Init, Random
from engine.ir.text import print_case
from engine.seeds import SEEDS, parameter_count, seed_named, trainable_count
from engine.seeds.importing import export, import_graph, sane

FACTORIES = "seed_models"
STRIP = (
    "model.convnextv2.encoder.",
    "model.convnextv2.",
    "model.swinv2.encoder.",
    "model.swinv2.",
    "model.segformer.encoder.",
    "model.segformer.",
    "model.model.",
    "model.",
)
"""Prefixes of module paths, longest first, that value names do without."""

_IMAGE = Random("normal", 0, (("mean", 0.0), ("std", 1.0)))
_INPUTS: Mapping[str, Init] = {
    "x": _IMAGE,
    "timestep": Random("uniform", 0, (("low", 0.0), ("high", 1000.0))),
}
"""Legal inputs by name: images have mean 0 and spread 1 after the usual normalisation; steps of a
diffusion lie between 0 and 1000. Ids are ids of their vocabulary."""

_VOCABULARIES = {
    "qwen2_5_0_5b": {"ids": 151_936},
    "qwen2_5_0_5b_compact": {"ids": 512},
    "modernbert_base": {"ids": 50_368},
    "modernbert_base_compact": {"ids": 56},
    "dit_s_2": {"label": 1000},
    "dit_s_2_compact": {"label": 10},
}
_COUNTED = {"rtdetrv2_s": ("anchors", "anchor_mask")}
"""Constants that the published count of parameters includes."""


_BATCH = 11
"""Divides no other extent, so that the import sees which ones grow with the batch."""


def legal_inputs(name: str) -> Mapping[str, Init]:
    """Initialisers of the inputs of a seed."""
    ids = {
        given: Random("integers", 0, (("low", 0), ("high", size)))
        for given, size in _VOCABULARIES.get(name, {}).items()
    }
    return {**_INPUTS, **ids}


def make(name: str, *, python: Path, search: Sequence[Path]) -> Case:
    """Export, import and check one seed; `BadInput` where its counts are not the published ones."""
    seed = seed_named(name)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        exported = export(python, f"{FACTORIES}:{name}", search=search, arrays=file, batch=_BATCH)
        with np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored)
    graph = import_graph(
        exported,
        name=name,
        initialise=sane,
        inputs=legal_inputs(name),
        strip=STRIP,
        arrays=arrays,
        counted=_COUNTED.get(name, ()),
        batch=1 if seed.scale == "full" else 2,
    )
    counts = parameter_count(graph), trainable_count(graph)
    if counts != (seed.parameters, seed.trainable):
        raise BadInput(
            f"parameters of {name}", seen=counts, expected=f"{seed.parameters}, {seed.trainable}"
        )
    graph = calibrated(graph, awake=seed.scale == "compact")
    check(graph)
    return Case(graph)


def main() -> None:
    parser = argparse.ArgumentParser(description="make the shipped seeds again")
    parser.add_argument("names", nargs="*", default=list(SEEDS))
    parser.add_argument("--python", type=Path, required=True, help="has torch and transformers")
    parser.add_argument("--search", type=Path, action="append", default=[], help="module folder")
    options = parser.parse_args()
    for name in options.names:
        case = make(name, python=options.python, search=options.search)
        seed_named(name).file.write_text(print_case(case), encoding="utf-8")
        print(f"{name}: {len(case.graph.nodes)} nodes, {parameter_count(case.graph)} parameters")


if __name__ == "__main__":
    main()
