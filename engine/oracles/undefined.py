"""Values that no framework defines: they are never compared, nor is what follows from them.

Casts of NaN, Inf or numbers out of range to integers, integer division by zero, and shifts by as
many bits as the type has are undefined in C++ and unpromised by both frameworks.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.executors.outcome import Array
from engine.ir.graph import Graph, Node
from engine.ir.types import Dense, is_float, is_integer, itemsize
from engine.ops import OPS
from engine.oracles.referee import Referee, as_float64

__all__ = ["undefined_values"]

_DIVISIONS = ("div", "floor_divide", "remainder", "fmod")
_SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def undefined_values(graph: Graph, referee: Referee) -> frozenset[str]:
    """Names of the values with an undefined element, and of everything computed from them."""
    tainted: set[str] = set()
    for node in graph.nodes:
        if tainted.intersection(node.uses) or _is_undefined(node, graph, referee.working):
            tainted.add(node.name)
            if node.writes:
                tainted.add(node.writes)
    return frozenset(tainted)


def _is_undefined(node: Node, graph: Graph, values: Mapping[str, Array]) -> bool:
    result = graph.types[node.name]
    operands = [one for one in node.operands if one]
    if not operands or not isinstance(result, Dense) or not is_integer(result.dtype):
        return False
    if _is_cast(node):
        source = graph.types[operands[0]]
        if isinstance(source, Dense) and is_float(source.dtype):
            return not _fits(values[operands[0]], result.dtype)
        return False
    last = operands[-1]
    if node.op.startswith(_DIVISIONS) and len(operands) > 1:
        return bool((values[last] == 0).any())
    if node.op in _SHIFTS:
        bits = 8 * itemsize(result.dtype)
        amounts = values[last].astype(np.int64)
        return bool(((amounts < 0) | (amounts >= bits)).any())
    return False


def _is_cast(node: Node) -> bool:
    spec = OPS.get(node.op)
    return spec is not None and "cast" in spec.tags


def _fits(array: Array, dtype: str) -> bool:
    limits = np.iinfo(dtype)
    wide = as_float64(array)
    return bool((np.isfinite(wide) & (wide > limits.min - 1.0) & (wide < limits.max + 1.0)).all())
