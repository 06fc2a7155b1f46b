"""The referee: the case in float64 on NumPy, and the noise floor of that answer.

The floor is how far float64 moves when inputs and intermediate results are disturbed by one unit in
the last place of the working dtype: a difference below it says nothing about a framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.executors.outcome import Array
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.types import Dense
from engine.ops import OPS
from engine.ops.spec import Tolerance

__all__ = ["DRAWS", "REFUSALS", "Floats", "Referee", "as_float64", "distance"]

DRAWS = 12
# What NumPy raises where a call has no answer for the values given, as `numpy_mode` has it.
REFUSALS = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Referee:
    """Lazily evaluated answers for one call of a case.

    `values`: arrays of the inputs by name, in their declared dtypes. After evaluation the entry of
    an input holds what its storage must hold after the call.
    """

    case: Case
    values: Mapping[str, Array]

    @cached_property
    def exact(self) -> Mapping[str, Array]:
        """Every value of the graph in float64; inputs as they must be after the call."""
        return evaluate(self.case.graph, self._copies(), dtype="float64")

    @cached_property
    def working(self) -> Mapping[str, Array]:
        """Every value of the graph in the declared dtypes."""
        return evaluate(self.case.graph, self._copies())

    @cached_property
    def overflows(self) -> bool:
        """Whether a number leaves the range of its dtype when NumPy calculates in declared ones."""
        seen: list[str] = []
        evaluate(self.case.graph, self._copies(), overflow=seen.append)
        return bool(seen)

    @cached_property
    def refusal(self) -> str:
        """Why NumPy has no answer (an index out of range, say), "" where it has one."""
        try:
            _ = self.exact, self.working
        except REFUSALS as error:
            return f"{type(error).__name__}: {error}"
        return ""

    @cached_property
    def draws(self) -> tuple[Mapping[str, Array] | None, ...]:
        """Disturbed float64 evaluations; None where a disturbed one has no answer.

        The last is not disturbed but flushed: whether subnormal numbers survive is promised by no
        framework, so what hangs on them is not compared.
        """
        flushed = self._answer(dtype="float64", flush=True)
        return (*(self._draw(number) for number in range(DRAWS)), flushed)

    def _draw(self, number: int) -> Mapping[str, Array] | None:
        rng = np.random.default_rng([20, number])
        return self._answer(dtype="float64", disturb=rng)

    def _answer(self, **how: Any) -> Mapping[str, Array] | None:
        try:
            return evaluate(self.case.graph, self._copies(), **how)
        except REFUSALS:
            return None

    @cached_property
    def accumulates(self) -> bool:
        """Whether any operator sums many terms, so that the order of summing shows."""
        specs = (OPS.get(one.op) for node in self.case.graph.nodes for one in node.within())
        return any(one is not None and one.tolerance is Tolerance.ACCUMULATING for one in specs)

    @cached_property
    def unwritten(self) -> Mapping[str, Array]:
        """Every value of the graph in float64 if no in-place operator wrote anything."""
        graph = self.case.graph
        kept = {node.name: node.writes for node in graph.nodes if node.writes}
        if not kept:
            return self.exact

        def before(name: str) -> str:
            while name in kept:
                name = kept[name]
            return name

        nodes = tuple(
            replace(
                node,
                operands=tuple(before(one) if one else None for one in node.operands),
                views=before(node.views) if node.views else None,
            )
            for node in graph.nodes
            if node.name not in kept
        )
        values = evaluate(graph.with_nodes(nodes, ()), self._copies(), dtype="float64")
        return {name: values[before(name)] for name in graph.types if before(name) in values}

    def floor(self, name: str) -> Floats:
        """Greatest movement of each element over the draws; inf where an element changes class."""
        exact = self.exact[name]
        shape = as_float64(exact).shape
        floor = np.zeros(shape)
        for draw in self.draws:
            if draw is None or draw[name].shape != exact.shape:
                return np.full(shape, np.inf)
            floor = np.maximum(floor, distance(draw[name], exact))
        return floor

    def has_firm_shape(self, name: str) -> bool:
        """Whether rounding leaves an extent alone that depends on values (of nonzero, say)."""
        shapes = {
            None if draw is None else draw[name].shape
            for draw in (self.exact, self.working, *self.draws)
        }
        return len(shapes) == 1

    def declared(self, name: str) -> Dense | None:
        found = self.case.graph.types.get(name)
        return found if isinstance(found, Dense) else None

    def _copies(self) -> dict[str, Array]:
        return {name: array.copy() for name, array in self.values.items()}


def distance(left: Array, right: Array) -> Floats:
    """How far two arrays of one shape are apart, elementwise: 0 for equal NaNs and infinities, inf
    for a NaN beside a number. Integers are subtracted as such: float64 has not all of int64."""
    if left.dtype.kind in "biu" and right.dtype.kind in "biu":
        # Differences modulo 2**64 are right even where they leave the range of int64.
        one, two = left.astype(np.int64), right.astype(np.int64)
        apart = np.where(one > two, one.astype(np.uint64) - two.astype(np.uint64), 0)
        apart = np.where(two > one, two.astype(np.uint64) - one.astype(np.uint64), apart)
        return np.asarray(apart.astype(np.float64))
    one_float, two_float = as_float64(left), as_float64(right)
    with np.errstate(all="ignore"):
        found = np.asarray(np.abs(one_float - two_float))  # a scalar where there are no axes
    found[(one_float == two_float) | (np.isnan(one_float) & np.isnan(two_float))] = 0
    found[np.isnan(found)] = np.inf
    return found


def as_float64(array: Array) -> Floats:
    """The array in float64 (complex: real and imaginary parts on a last axis of extent 2)."""
    if array.dtype.kind == "c":
        wide = array.astype(np.complex128)
        return np.stack([wide.real, wide.imag], axis=-1)
    return array.astype(np.float64)
