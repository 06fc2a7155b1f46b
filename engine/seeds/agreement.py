"""How the modes agree on the shipped seeds, as `scripts/seeds.py` measured it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from engine.ir.graph import Graph
from engine.ir.types import Dense
from engine.seeds import DATA

__all__ = [
    "FIGURES",
    "PROFILE",
    "Outputs",
    "difference",
    "figures_of",
    "has_ranked_rows",
    "reordered",
]

Outputs = Sequence[npt.NDArray[np.float64]]

FIGURES = DATA / "agreement.json"
PROFILE = "profile"
"""The entry of a seed that is no mode: its speed and the scale of its activations."""


@cache
def _all() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def figures_of(name: str) -> Mapping[str, Any]:
    """By mode: status, difference to float64 in parts of the greatest value, seconds, gigabytes;
    empty where nothing was measured. `PROFILE`: see `scripts/seeds.py`. "moved", "in_order": what
    `reordered` says, where ranked rows changed places."""
    return _all().get(name, {})


def difference(found: Outputs, referee: Outputs) -> float:
    """Greatest difference of an output to the referee's, in parts of its greatest value."""
    return max(
        float(np.abs(one - other).max()) / _scale(other)
        for one, other in zip(found, referee, strict=True)
    )


def has_ranked_rows(graph: Graph) -> bool:
    """Whether every output has as many rows, on axis 1, as a `topk` of the graph chooses.

    Rounding puts near-equal scores in another order, and the rows of all outputs with them.
    """
    chosen = {(dict(node.attrs)["k"],) for node in graph.nodes if node.op == "topk"}
    types = [graph.types[name] for name in graph.outputs]
    return all(isinstance(one, Dense) and one.extents[1:2] in chosen for one in types)


def reordered(found: Outputs, referee: Outputs) -> tuple[int, float]:
    """How many rows, on axis 1, lie in other places than the referee's, and what else differs.

    The rows of all outputs together are matched with the referee's so that they differ least.
    """
    moved = 0
    placed = [one.copy() for one in found]
    pairs = list(zip(found, referee, strict=True))
    for member in range(len(found[0])):
        costs = np.max([_costs(one[member], two[member]) for one, two in pairs], 0)
        _, order = linear_sum_assignment(costs)
        moved += int(np.count_nonzero(order != np.arange(len(order))))
        for one, given in zip(placed, found, strict=True):
            one[member] = given[member][order]
    return moved, difference(placed, referee)


def _costs(found: npt.NDArray[np.float64], referee: npt.NDArray[np.float64]) -> Any:
    """How far each row of the referee is from each that was found, in parts of its greatest."""
    one, other = (given.reshape(len(given), -1) for given in (found, referee))
    return np.abs(other[:, None] - one[None]).max(axis=2) / _scale(other)


def _scale(referee: npt.NDArray[np.float64]) -> float:
    return max(float(np.abs(referee).max()), 1e-30)
