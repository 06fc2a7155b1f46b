"""Makes the shipped seeds again from their published definitions.

    python -m engine.seeds.making --python PYTHON --search FOLDER ... [NAME ...]

PYTHON needs torch and transformers; `tests/quality/seed_models.py` has the factories. Needed at
development time only: a shipped seed is text.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.errors import BadInput
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.graph import Init, Random
from engine.ir.text import print_case
from engine.seeds import SEEDS, parameter_count, seed_named, trainable_count
from engine.seeds.importing import export, import_graph, sane

FACTORIES = "seed_models"
STRIP = ("model.convnextv2.encoder.", "model.convnextv2.", "model.model.", "model.")
"""Prefixes of module paths, longest first, that value names do without."""

INPUTS: Mapping[str, Mapping[str, Init]] = {
    "convnextv2_tiny": {"x": Random("normal", 0, (("mean", 0.0), ("std", 1.0)))},
    "convnextv2_tiny_compact": {"x": Random("normal", 0, (("mean", 0.0), ("std", 1.0)))},
    "qwen2_5_0_5b": {"ids": Random("integers", 0, (("low", 0), ("high", 151936)))},
    "qwen2_5_0_5b_compact": {"ids": Random("integers", 0, (("low", 0), ("high", 512)))},
}
"""Legal inputs: images have mean 0 and spread 1 after the usual normalisation, ids are ids."""


def make(name: str, *, python: Path, search: Sequence[Path]) -> Case:
    """Export, import and check one seed; `BadInput` where its counts are not the published ones."""
    seed = seed_named(name)
    exported = export(python, f"{FACTORIES}:{name}", search=search)
    graph = import_graph(exported, name=name, initialise=sane, inputs=INPUTS[name], strip=STRIP)
    counts = parameter_count(graph), trainable_count(graph)
    if counts != (seed.parameters, seed.trainable):
        raise BadInput(
            f"parameters of {name}", seen=counts, expected=f"{seed.parameters}, {seed.trainable}"
        )
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
