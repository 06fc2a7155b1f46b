"""Derivatives of a case's loss by differences, in float64 on NumPy: the check on the gradient
referee, which is PyTorch's own and would share PyTorch's faults.

The loss is the one that the frameworks differentiate: each of its outputs times fixed weights,
summed (`engine.executors.request.ones_and_eighths`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine.executors.outcome import Array
from engine.executors.reference import evaluate
from engine.executors.request import ones_and_eighths
from engine.ir.case import Case
from engine.ir.graph import Graph
from engine.ir.types import Dense, is_float
from engine.ops import OPS
from engine.oracles.referee import REFUSALS, Floats, as_float64

__all__ = ["TANGENT", "Differences", "along"]

TANGENT = "loss"
"""What a derivative along fixed directions is called, in place of an input's name."""
_STEP = 1e-5
# Two step sizes must agree by this much, relative to the greater, before a slope is believed.
_STEADY = 1e-4
_LEAST = 1e-7
# Extrapolation to more digits: the widest step, how often it is halved, how far it may be off.
_WIDEST = 0.05
_HALVINGS = 7
_FINE = 2e-11

Index = tuple[int, ...]


@dataclass(frozen=True)
class Differences:
    """`values`: the inputs as the frameworks are given them. `moving`: those that the derivative
    along directions moves, by default all that a gradient is asked of."""

    case: Case
    values: Mapping[str, Array]
    moving: tuple[str, ...] | None = None

    @cached_property
    def _start(self) -> dict[str, Array]:
        return {
            name: array.astype(np.float64) if array.dtype.kind in "fV" else array
            for name, array in self.values.items()
        }

    @cached_property
    def _graph(self) -> Graph:
        """The graph, with storage of its own for each input where nothing is written to: a gradient
        of one input leaves those that lie in the same place alone."""
        graph = self.case.graph
        if any(node.writes for node in graph.nodes):
            return graph
        return replace(graph, inputs=tuple(replace(one, alias="") for one in graph.inputs))

    # ---- is there a derivative?
    def is_smooth(self, name: str, index: Index) -> bool:
        """Whether the outputs that the loss reads have the same derivative from both sides, and in
        second order the same curvature."""
        move = self._mover(name, index)
        if move is None:
            return False
        if self.case.plan.gradient == "second" and self.bends(name, index):
            return False
        step = _STEP * self._scale(name, index)
        below, here, above = (self._outputs(move(one)) for one in (-step, 0.0, step))
        with np.errstate(all="ignore"):
            left, right = (here - below) / step, (above - here) / step
            scale = np.maximum(np.abs(left), np.abs(right))
            return bool(np.all(np.abs(left - right) <= 1e-2 * scale + 1e-4))

    def bends(self, name: str, index: Index) -> bool:
        """Whether the second derivative differs from side to side, as that of x * abs(x) at 0."""
        move = self._mover(name, index)
        if move is None:
            return True
        step = 1e-3 * self._scale(name, index)
        points = [self._outputs(move(many * step)) for many in (-2, -1, 0, 1, 2)]
        with np.errstate(all="ignore"):
            left = (points[2] - 2 * points[1] + points[0]) / step**2
            right = (points[4] - 2 * points[3] + points[2]) / step**2
            scale = np.maximum(np.abs(left), np.abs(right))
            return not bool(np.all(np.abs(left - right) <= 5e-2 * scale + 1e-2))

    # ---- what is it?
    def slope(self, name: str, index: Index) -> float | None:
        """The derivative of the loss with respect to an element of an input (along the directions,
        for `TANGENT`); None where differences do not tell, and in second order."""
        move = self._mover(name, index)
        if move is None or self.case.plan.gradient == "second" or not self._is_differentiable:
            return None
        step = _STEP * self._scale(name, index)
        with np.errstate(all="ignore"):
            wide, narrow = (
                (self._loss(move(one)) - self._loss(move(-one))) / (2 * one)
                for one in (step, step / 2)
            )
            steady = _STEADY * max(abs(wide), abs(narrow)) + _LEAST
            if not np.isfinite(wide - narrow) or abs(wide - narrow) > steady:
                return None
            # Beside a great number the step may be less than the last place.
            lost = np.finfo(np.float64).eps * self._greatest / step
        return float(narrow) if lost <= steady else None

    def fine_slope(self, name: str, index: Index) -> float | None:
        """The same to ten digits, which tells float64 from float32, by Richardson's extrapolation
        over steps that are halved; None where the extrapolations do not agree."""
        move = self._mover(name, index)
        if move is None or self.case.plan.gradient == "second" or not self._is_differentiable:
            return None
        best, off = 0.0, np.inf
        above: list[float] = []
        with np.errstate(all="ignore"):
            for halved in range(_HALVINGS):
                step = _WIDEST * self._scale(name, index) / 2**halved
                row = [(self._loss(move(step)) - self._loss(move(-step))) / (2 * step)]
                for order, coarser in enumerate(above, start=1):
                    row.append(row[-1] + (row[-1] - coarser) / (4**order - 1))
                    apart = max(abs(row[-1] - row[-2]), abs(row[-1] - coarser))
                    if apart < off:
                        best, off = row[-1], apart
                above = row
        return best if off <= _FINE * (1 + abs(best)) else None

    @cached_property
    def _is_differentiable(self) -> bool:
        """Whether differences are what a framework promises: not across a `detach`."""
        specs = [OPS.get(node.op) for node in self.case.graph.calls]
        return all(one is not None and one.differentiable for one in specs)

    @cached_property
    def _greatest(self) -> float:
        """The greatest finite magnitude among the values that the loss depends on."""
        try:
            answers = evaluate(self._graph, self._start, dtype="float64")
        except REFUSALS:
            return float("inf")
        sizes = (np.abs(as_float64(one)) for one in answers.values() if one.dtype.kind in "fc")
        return max((float(one[np.isfinite(one)].max(initial=0.0)) for one in sizes), default=0.0)

    def _loss(self, values: Mapping[str, Array]) -> float:
        try:
            answers = evaluate(self._graph, values, dtype="float64")
        except REFUSALS:
            return float("nan")
        total = 0.0
        for name in self._losing:
            weights = as_float64(ones_and_eighths(answers[name].shape, "float64"))
            total += float((as_float64(answers[name]) * weights).sum())
        return total

    @cached_property
    def _losing(self) -> tuple[str, ...]:
        """The outputs that the loss reads."""
        graph, plan = self.case.graph, self.case.plan
        chosen = plan.loss_outputs or range(len(graph.outputs))
        named = [(graph.outputs[at], graph.types[graph.outputs[at]]) for at in chosen]
        return tuple(
            name
            for name, of in named
            if isinstance(of, Dense) and is_float(of.dtype) and of.is_static
        )

    def _outputs(self, values: Mapping[str, Array]) -> Floats:
        """The outputs in question, flat and one after another; NaN where there are none."""
        try:
            answers = evaluate(self._graph, values, dtype="float64")
        except REFUSALS:
            return np.full(1, np.nan)
        outputs = self.case.graph.outputs
        chosen = self.case.plan.loss_outputs or range(len(outputs))
        return np.concatenate([as_float64(answers[outputs[at]]).ravel() for at in chosen])

    # ---- moving
    def _mover(self, name: str, index: Index) -> Callable[[float], dict[str, Array]] | None:
        """Inputs by how far they are moved; None where they cannot be."""
        names = self._wanted if name == TANGENT else (name,)
        starts = [self._start[one] for one in names]
        if any(one.dtype.kind == "c" for one in starts) or not names:
            return None
        if any(one.alias and one.name in names for one in self._graph.inputs):
            return None  # the others in its storage would move with it
        chosen = starts if name == TANGENT else [starts[0][index]]
        if not all(np.isfinite(one).all() for one in chosen):
            return None

        def moved(by: float) -> dict[str, Array]:
            values = {key: array.copy() for key, array in self._start.items()}
            if name == TANGENT:
                for one in names:
                    start = as_float64(values[one])
                    values[one] = start + by * _direction(start.shape)
            else:
                values[name][index] += by
            return values

        return moved

    @cached_property
    def _wanted(self) -> tuple[str, ...]:
        if self.moving is not None:
            return self.moving
        return tuple(one.name for one in self.case.graph.inputs if one.requires_grad)

    def _scale(self, name: str, index: Index) -> float:
        return 1.0 if name == TANGENT else max(1.0, abs(float(self._start[name][index])))


def along(gradient: Array | None) -> Floats | None:
    """A gradient times the fixed directions, term by term: their sum is what forward mode must
    give. None where there is no gradient, or a complex one."""
    if gradient is None or gradient.dtype.kind == "c":
        return None
    return as_float64(gradient) * _direction(gradient.shape)


def _direction(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """1 + (k mod 7) / 8 over the flat position k, as the workers take it."""
    size = int(np.prod(shape, dtype=np.int64))
    return np.asarray((1 + np.arange(size) % 7 / 8).reshape(shape), dtype=np.float64)
