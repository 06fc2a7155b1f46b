"""Running estimates that fit the activations, as those of a trained model do.

Where a batch norm's estimates do not follow what flows into it, residual blocks add up: thirty of
them make 1e13 of 1. One run of the graph on its own inputs says what the estimates are to be.

Channels have means of their own, as what flows into a convolution is positive after a rectifier.
On a map of few places one mean for all of them would leave many channels below zero everywhere, and
the rectifier behind them silent for good: there each channel has its own, written out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.executors.reference import Value, evaluate
from engine.ir.graph import Graph, Input, Literal, Node, Random
from engine.ir.values import Array, materialise

__all__ = ["calibrated"]

FEW = 256
"""Places of a channel, of all images together, under which its mean is written out."""
_WRITTEN = 64
"""As many values as a literal holds."""


def calibrated(graph: Graph, *, awake: bool = False) -> Graph:
    """The graph with the estimates of its batch norms drawn about what flows into them.

    Means lie about that of the input, variances between half and one and a half times its. Where a
    rectifier follows and a channel has under `FEW` places, its mean is that of the channel. What
    the estimates are made of is rounded to two digits, so that the last bits of a run do not show.
    A norm is fitted before what follows it is computed, which it changes. `awake`: where some
    channel of a convolution is silenced by its rectifier, its biases centre all of them.
    """
    fitted: dict[str, Input] = {}

    def fit(node: Node, scope: dict[str, Value]) -> None:
        if awake and node.op.removesuffix("_") == "relu":
            fitted.update(_awoken(graph, node, scope))
        if node.op != "batch_norm":
            return
        given, mean, var, *_ = node.operands
        assert given is not None
        assert mean is not None
        assert var is not None
        array = np.asarray(scope[given], dtype="float64")
        spread, middle = _rounded(float(array.std())), _rounded(float(array.mean()))
        middle = middle if abs(middle) > 0.05 * spread else 0.0
        scale = _rounded(spread**2)
        made = (
            _written(graph, mean, array)
            if _is_sparse(array) and _is_rectified(graph, node.name)
            else _drawn(graph, mean, "normal", mean=middle, std=0.05 * spread),
            _drawn(graph, var, "uniform", low=0.5 * scale, high=1.5 * scale),
        )
        fitted.update((one.name, one) for one in made)
        scope.update(materialise(made, {}))

    evaluate(graph, materialise(graph, {}), before=fit)
    return replace(graph, inputs=tuple(fitted.get(one.name, one) for one in graph.inputs))


def _awoken(graph: Graph, node: Node, scope: dict[str, Value]) -> dict[str, Input]:
    """The biases of the convolution before a rectifier, if it silences a channel; `scope` follows.

    Salimans and Kingma 2016, section 3: the first run of a model on data sets its biases.
    """
    value = str(node.operands[0])
    maker = graph.by_name.get(value)
    if maker is None or maker.op != "conv2d" or maker.operands[2] is None:
        return {}
    array = np.asarray(scope[value], dtype="float64")
    if array.shape[1] > _WRITTEN or (array > 0).any(axis=(0, 2, 3)).all():
        return {}
    bias = str(maker.operands[2])
    old = np.asarray(scope[bias], dtype="float64")
    new = [_rounded(one) for one in (old - array.mean(axis=(0, 2, 3))).tolist()]
    added = (np.asarray(new) - old).reshape(1, -1, 1, 1)
    scope[value] = np.asarray(scope[value]) + added.astype("float32")
    return {bias: replace(graph.input_by_name[bias], init=Literal(tuple(new)))}


def _is_sparse(array: Array) -> bool:
    """Whether its channels, on axis 1, have few places each and can be written out."""
    channels = array.shape[1]
    return channels <= _WRITTEN and array.size // channels < FEW


def _is_rectified(graph: Graph, value: str) -> bool:
    """Whether a rectifier reads the value, at once or behind sums (shortcuts)."""
    for user in graph.users[value]:
        node = graph.by_name.get(user)
        if node is not None and node.op.removesuffix("_") == "relu":
            return True
        if node is not None and node.op.removesuffix("_") == "add" and _is_rectified(graph, user):
            return True
    return False


def _written(graph: Graph, name: str, array: Array) -> Input:
    """The input with the means of the channels on axis 1."""
    others = tuple(axis for axis in range(array.ndim) if axis != 1)
    means = (_rounded(float(one)) for one in array.mean(axis=others))
    return replace(graph.input_by_name[name], init=Literal(tuple(means)))


def _drawn(graph: Graph, name: str, kind: str, **parameters: float) -> Input:
    """The input with other values; its seed is kept."""
    given = graph.input_by_name[name]
    assert isinstance(given.init, Random), f"{name}: running estimates are drawn"
    pairs = tuple((key, _short(one)) for key, one in parameters.items())
    return replace(given, init=Random(kind, given.init.seed, pairs))


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


def _short(value: float) -> float:
    return float(f"{value:.4g}")
