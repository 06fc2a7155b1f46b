"""Running estimates are fitted to what flows into their norms."""

from __future__ import annotations

import numpy as np
import pytest

from engine.calibration import FEW, calibrated
from engine.executors.reference import evaluate
from engine.ir.graph import Graph, Literal, Random
from engine.ir.text import parse_case
from engine.ir.values import materialise
from engine.seeds import SEEDS, load_seed

COMPACT = [name for name, seed in SEEDS.items() if seed.scale == "compact"]


def normed(side: int, after: str) -> Graph:
    """A batch norm of maps whose four channels have means far apart, then `after`."""
    text = f"""case 1

graph normed
  input x: float32[2,4,{side},{side}] = normal(seed=1, mean=0.0, std=0.5)
  constant shift: float32[4,1,1] = [-9.0, -3.0, 3.0, 9.0]
  constant mean: float32[4] = normal(seed=2, mean=0.0, std=0.05)
  constant var: float32[4] = uniform(seed=3, low=0.5, high=1.5)
  y: float32[2,4,{side},{side}] = add(x, shift)
  z: float32[2,4,{side},{side}] = batch_norm(y, mean, var, none, none; eps=1e-05)
{after}
  return last
"""
    return parse_case(text).graph


def rectified(side: int) -> str:
    """A shortcut, then a rectifier."""
    of = f"float32[2,4,{side},{side}]"
    return f"  sum: {of} = add(z, x)\n  last: {of} = relu(sum)"


def silent(graph: Graph) -> int:
    """Channels of the last value that are 0 everywhere."""
    last = np.asarray(evaluate(graph, materialise(graph, {}))["last"])
    return int((last == 0).all(axis=(0, 2, 3)).sum())


def test_no_rectifier_of_a_small_map_is_silent_for_good() -> None:
    graph = normed(3, rectified(3))
    assert silent(graph) == 2
    fitted = calibrated(graph)
    assert silent(fitted) == 0
    assert isinstance(fitted.input_by_name["mean"].init, Literal)
    means = materialise(fitted, {})["mean"]
    np.testing.assert_allclose(means, [-9, -3, 3, 9], atol=0.5)


@pytest.mark.parametrize(
    ("side", "after"),
    [
        (int(FEW**0.5), rectified(int(FEW**0.5))),
        (3, "  last: float32[2,4,3,3] = silu(z)"),
    ],
    ids=["many places", "no rectifier"],
)
def test_other_means_are_drawn_about_that_of_all_channels(side: int, after: str) -> None:
    init = calibrated(normed(side, after)).input_by_name["mean"].init
    assert isinstance(init, Random)
    assert init.kind == "normal"


@pytest.mark.parametrize("name", COMPACT)
def test_shipped_estimates_are_those_that_calibration_finds(name: str) -> None:
    graph = load_seed(name).graph
    assert calibrated(graph, awake=True) == graph
