"""What a round costs, each part against doing the same the plain way.

    python -m tests.bench.bench_engine

* a mutation: types of the dirty cone against types of the whole graph;
* a mutant: its window against the whole model, in every cheap mode;
* the referee: NumPy in float64 against the same window in PyTorch eager.
Times are medians in milliseconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from engine.candidates import Candidates
from engine.errors import ConstraintViolated
from engine.executors.pool import Pool
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.values import materialise
from engine.ir.window import cut, neighbourhood
from engine.mutators.apply import Mutant, apply
from engine.ops.typing import retype
from engine.seeds import load_seed

SEED = "convnextv2_tiny_compact"
MODES = ("torch-eager", "torch-aot", "mindspore-pynative", "mindspore-graph")


def median(action: Callable[[], object], repeats: int = 5) -> float:
    """Milliseconds."""
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        spent.append((time.perf_counter() - began) * 1e3)
    return statistics.median(spent)


def show(name: str, ours: float, other: float, peer: str) -> None:
    print(f"{name:<34} {ours:>9.1f}   {peer:<28} {other:>9.1f}   ratio {ours / other:>6.2f}")


def mutant_of(case: Case, rng: np.random.Generator) -> tuple[Mutant, Callable[[], Mutant]]:
    """A mutant, and what makes it again."""
    candidates = Candidates(case)
    while True:
        one = candidates.choose_uniform(rng)
        again = partial(apply, case, one.mutator, one.variant, one.site)
        try:
            made = again(np.random.default_rng(0))
        except ConstraintViolated:
            continue
        if made.changed:
            break
    return made, lambda: again(np.random.default_rng(0))


def main() -> None:
    case = load_seed(SEED)
    mutant, again = mutant_of(case, np.random.default_rng(3))
    graph = mutant.case.graph
    show("apply a mutation", median(again), median(lambda: retype(graph)), "retype the whole graph")
    with Pool() as pool:
        recorded = pool.run(case, "torch-eager", record="values").recorded
        values = {name: one.array for name, one in recorded.items() if one.array is not None}
        names = neighbourhood(case.graph, [case.graph.nodes[40].name], limit=10)
        window, blobs = cut(case, names, values)
        for mode in MODES:
            pool.run(window, mode, blobs=blobs)
            small = median(lambda m=mode: pool.run(window, m, blobs=blobs))  # type: ignore[misc]
            whole = median(lambda m=mode: pool.run(case, m), 3)  # type: ignore[misc]
            show(f"window of {len(window.graph.nodes)} in {mode}", small, whole, "the whole model")
        arrays = materialise(window.graph, blobs)
        referee = median(lambda: evaluate(window.graph, dict(arrays), dtype="float64"))
        eager = median(lambda: pool.run(window, "torch-eager", blobs=blobs))
        show("referee on the window", referee, eager, "the window in torch-eager")


if __name__ == "__main__":
    main()
