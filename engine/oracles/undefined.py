"""Values that no framework defines: they are never compared, nor is what follows from them.

Casts of NaN, Inf or numbers out of range to integers, integer division by zero, and shifts by as
many bits as the type has are undefined in C++ and unpromised by both frameworks. So are the places
of equal values (the tag "ties" of an operator), and which of several values stays that are written
to one place, and what becomes of infinities and NaN in a decomposition of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
import numpy.typing as npt

from engine.executors.outcome import Array
from engine.executors.reference import smallest_normal
from engine.ir.graph import Graph, Node
from engine.ir.types import Dense, is_float, is_integer, itemsize, numpy_dtype
from engine.ops import OPS
from engine.oracles.referee import Floats, Referee, as_float64

__all__ = [
    "disputed_values",
    "greatest_of",
    "overflows_on_the_way",
    "spread",
    "undefined_values",
]

_DIVISIONS = ("div", "floor_divide", "remainder", "fmod")
# Operators that write values to the places that their second operand names.
_WRITES = ("scatter", "index_copy", "setitem_index")
_BRANCHING = ("hardshrink", "softshrink", "threshold")
# The three cases that MindSpore's page of clamp tells apart have no NaN among them.
_BOUNDING = ("clamp", "clamp_", "clamp_tensor")
# Where NaN stands among other numbers is a custom: a comparison with it says nothing.
_SORTING = ("msort", "sort", "topk", "unique", "unique_consecutive")
# By the letter of floor(x / y) an infinite quotient stays infinite, in Python it becomes NaN.
_FLOORING = ("floor_divide", "floor_divide_scalar")
# By cases hardswish(-inf) is 0, as a product NaN; pages give either.
_GATES = ("hardswish",)
# The cosine of a vector of zeros is 0/0 by the page's formula; some add an epsilon that it has not.
_COSINES = ("cosine_embedding_loss",)
# Whether a zero with a sign is less than zero: by comparison no, by its bits yes.
_SIGNS = ("signbit",)
# Their results for infinite or NaN matrices are those of LAPACK, which promises none, or hang on
# the order in which powers are multiplied.
_DECOMPOSITIONS = (*("cholesky", "det", "inverse", "logdet", "matrix_power", "solve", "svdvals"),)
_SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def undefined_values(graph: Graph, referee: Referee) -> frozenset[str]:
    """Names of the values with an undefined element, and of everything computed from them."""
    return spread(
        graph,
        lambda node: (
            _is_undefined(node, graph, referee.working)
            # What flows in a loop is not recorded: what may be undefined there counts as such.
            or any(_may_be_undefined(one) for one in node.within() if one is not node)
        ),
    )


def disputed_values(graph: Graph, referee: Referee) -> frozenset[str]:
    """Values that pages and customs say differently of, and what is computed from them.

    A formula with an "otherwise" that is given NaN, for one: by the letter NaN becomes what stands
    there, by custom it stays NaN. No framework is wrong against another there, but its modes must
    agree.
    """
    return spread(
        graph,
        lambda node: (
            any(one.op in _DISPUTED for one in node.within() if one is not node)
            or (
                node.op in _DISPUTED
                and any(
                    _DISPUTED[node.op](as_float64(referee.exact[one])).any()
                    for one in node.operands
                    if one
                )
            )
        ),
    )


# What of an operand's values makes the answer of an operator disputed.
_DISPUTED: Mapping[str, Callable[[Floats], npt.NDArray[np.bool_]]] = {
    **dict.fromkeys((*_BRANCHING, *_BOUNDING, *_SORTING), np.isnan),
    **dict.fromkeys((*_FLOORING, *_GATES), np.isinf),
    **dict.fromkeys(_COSINES, lambda values: ~np.atleast_1d(values).any(axis=-1)),
    **dict.fromkeys(_SIGNS, lambda values: values == 0),
}


def overflows_on_the_way(graph: Graph, referee: Referee, names: Collection[str]) -> bool:
    """Whether a node among the named ones is given a number whose square or cube leaves the range
    of its dtype, so that what it computes on the way may be infinite though its result is not."""
    for node in graph.nodes:
        if node.name not in names:
            continue
        for name in node.operands:
            declared = graph.types[name] if name else None
            if name and isinstance(declared, Dense) and is_float(declared.dtype):
                wide = np.abs(as_float64(referee.exact[name]))
                if (wide[np.isfinite(wide)] > greatest_of(declared.dtype) ** (1 / 3)).any():
                    return True
    return False


def greatest_of(dtype: str) -> float:
    """The greatest finite number of a floating dtype."""
    import ml_dtypes  # the only finfo that knows bfloat16

    return float(ml_dtypes.finfo(numpy_dtype(dtype)).max)  # type: ignore[no-untyped-call]


def spread(graph: Graph, begins: Callable[[Node], object]) -> frozenset[str]:
    """Nodes for which `begins` holds, all that is computed from them, and where that is written."""
    tainted: set[str] = set()
    storage: set[str] = set()
    for node in graph.nodes:
        if (
            tainted.intersection(node.uses)
            or begins(node)
            or (storage and any(graph.alias_root(one) in storage for one in node.uses))
        ):
            tainted.add(node.name)
            if node.writes:
                storage.add(graph.alias_root(node.writes))
    tainted.update(one for one in graph.types if storage and graph.alias_root(one) in storage)
    return frozenset(tainted)


def _may_be_undefined(node: Node) -> bool:
    """Whether a node has an undefined result for some values, be it for none of those at hand."""
    if node.op in (*_WRITES, *_DECOMPOSITIONS):
        return True
    spec = OPS.get(node.op)
    if spec is None or not isinstance(node.type, Dense) or not is_integer(node.type.dtype):
        return False
    return (
        bool({"ties", "cast"} & set(spec.tags))
        or node.op.startswith(_DIVISIONS)
        or node.op in _SHIFTS
    )


def _is_undefined(node: Node, graph: Graph, values: Mapping[str, Array]) -> bool:
    result = graph.types[node.name]
    if _is_place(node, graph, values) or _writes_twice(node, values):
        return True
    operands = [one for one in node.operands if one]
    if node.op in _DECOMPOSITIONS:
        return not all(np.isfinite(as_float64(values[one])).all() for one in operands)
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


def _writes_twice(node: Node, values: Mapping[str, Array]) -> bool:
    """Whether several values are written to one place, of which any may stay."""
    if node.op not in _WRITES:
        return False
    index = values[node.operands[1] or ""]
    if node.op != "scatter":
        return bool(np.unique(index).size < index.size)
    dim = dict(node.attrs)["dim"]
    assert isinstance(dim, int), f"scatter along {dim!r}"
    ordered = np.sort(index, axis=dim)
    return bool((np.diff(ordered, axis=dim) == 0).any())


def _is_place(node: Node, graph: Graph, values: Mapping[str, Array]) -> bool:
    """Whether a node answers with places of values, some of which are equal."""
    asked = node
    if node.op == "item":
        if node.attr("index") == 0 or node.uses[0] not in graph.by_name:
            return False  # the first of a pair are the values
        asked = graph.by_name[node.uses[0]]
    result = graph.types[node.name]
    spec = OPS.get(asked.op)
    if spec is None or "ties" not in spec.tags or not asked.operands[0]:
        return False
    if not isinstance(result, Dense) or not is_integer(result.dtype):
        return False
    dim = dict(asked.attrs).get("dim")
    ordered = values[asked.operands[0]]
    source = graph.types[asked.operands[0]]
    if isinstance(source, Dense) and is_float(source.dtype):
        # Flushed to zero, subnormal numbers are equals.
        wide = as_float64(ordered)
        ordered = np.where(np.abs(wide) < smallest_normal(source.dtype), 0.0, wide)
    return _has_equals(ordered, dim if isinstance(dim, int) else None)


def _has_equals(array: Array, axis: int | None) -> bool:
    """Whether any two values along an axis (of the whole array for None) are equal, or both NaN."""
    wide = array if array.dtype.kind in "biu" else as_float64(array)
    if wide.ndim == 0 or wide.size < 2:
        return False
    ordered = np.sort(wide.ravel() if axis is None else wide, axis=-1 if axis is None else axis)
    ordered = ordered if axis is None else np.moveaxis(ordered, axis, -1)
    left, right = ordered[..., 1:], ordered[..., :-1]
    return bool(((left == right) | ((left != left) & (right != right))).any())  # NaN differs


def _is_cast(node: Node) -> bool:
    spec = OPS.get(node.op)
    return spec is not None and "cast" in spec.tags


def _fits(array: Array, dtype: str) -> bool:
    limits = np.iinfo(dtype)
    wide = as_float64(array)
    return bool((np.isfinite(wide) & (wide > limits.min - 1.0) & (wide < limits.max + 1.0)).all())
