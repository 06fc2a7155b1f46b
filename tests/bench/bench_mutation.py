"""What choosing, filtering lazily and applying one mutation costs on a graph of 554 nodes.

    python -m tests.bench.bench_mutation

Each round is one that a campaign makes: candidates of a graph that it has not seen before (it is
the last mutant), their contexts, LinUCB's order, and the first that the filter lets
through. Times are of the process, in milliseconds, so that other work on the machine counts less.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from engine.candidates import Candidates, Counts
from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.mutators.apply import Mutant, apply
from engine.seeds import load_seed
from engine.selection.policies import LinUcb
from engine.tfg import FlowGraph

SEED, ROUNDS, LIMIT, ROWS = "rtdetrv2_s_compact", 60, 16, 32


def one_round(flow: FlowGraph, policy: LinUcb, counts: Counts, rng: np.random.Generator) -> Mutant:
    """The mutant of the first candidate that the filter lets through; the policy learns."""
    case = Case(flow.graph)
    candidates = Candidates(case, counts=counts, limit=LIMIT, rows=ROWS, rng=rng, flow=flow)
    contexts = candidates.contexts()
    for chosen in policy.order(candidates, rng):
        one = candidates[chosen]
        try:
            made = apply(case, one.mutator, one.variant, one.site, rng)
        except ConstraintViolated:
            continue
        counts.note(candidates.elements(one))
        policy.learn(contexts[chosen], one.mutator.cell, float(rng.random()))
        return made
    raise ConstraintViolated("no candidate fits")


def main() -> None:
    seed = load_seed(SEED)
    flow = FlowGraph(seed.graph)
    policy, counts, rng = LinUcb(), Counts(), np.random.default_rng(0)
    spent = []
    for _ in range(ROUNDS):
        began = time.process_time()
        mutant = one_round(flow, policy, counts, rng)
        spent.append((time.process_time() - began) * 1e3)
        flow = flow.update(mutant.case.graph, {}, mutant.changed)
        if len(mutant.case.graph.nodes) > len(seed.graph.nodes) + 20:
            flow = FlowGraph(seed.graph)
    spent.sort()
    print(f"choose, filter and apply on {len(seed.graph.nodes)} nodes, {ROUNDS} rounds")
    print(f"  median {statistics.median(spent):.1f} ms, p95 {spent[int(0.95 * len(spent))]:.1f} ms")


if __name__ == "__main__":
    main()
