"""Inference rules that several operator tables share: axes, static shapes, attribute tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from engine.errors import ConstraintViolated
from engine.ir.types import DTYPES, FLOATS, INTEGERS, Dense
from engine.ops.spec import Form, OpCall

__all__ = [
    "FLOAT_CPU",
    "MINDSPORE_FLOATS",
    "MINDSPORE_MOVING",
    "MINDSPORE_NUMBERS",
    "MOVING",
    "NUMBERS",
    "Requirement",
    "axis",
    "axis_is",
    "broadcast",
    "default",
    "has",
    "lacks",
    "like",
    "limited",
    "many_integers",
    "mindspore_method",
    "mindspore_primitive",
    "normal_axes",
    "product",
    "resized",
    "same_as_first",
    "shape_of",
    "static",
    "torch_method",
]

Requirement: TypeAlias = "Iterable[tuple[bool, str]]"

MOVING = DTYPES
"""Operators that only move values take every dtype."""
NUMBERS = (*FLOATS, *INTEGERS)
FLOAT_CPU = ("float32", "float64", "float16", "bfloat16")
MINDSPORE_FLOATS = ("float32", "float16", "float64")
MINDSPORE_NUMBERS = (*MINDSPORE_FLOATS, *INTEGERS)
MINDSPORE_MOVING = (*MINDSPORE_NUMBERS, "bool")


def static(given: Dense) -> tuple[int, ...]:
    """The concrete shape; `ConstraintViolated` where an extent is known only after running."""
    if not given.is_static:
        raise ConstraintViolated(f"{given}: the extent is known only after running")
    return given.extents


def axis(dim: int, rank: int) -> int:
    """The axis counted from the front; `ConstraintViolated` outside [-rank, rank)."""
    span = max(rank, 1)
    if not -span <= dim < span:
        raise ConstraintViolated(f"axis {dim} does not exist in a tensor of rank {rank}")
    return dim % span


def normal_axes(dims: Iterable[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the given order; a repeated axis is refused."""
    found = tuple(axis(dim, rank) for dim in dims)
    if len(set(found)) != len(found):
        raise ConstraintViolated(f"axes {found} repeat")
    return found


def resized(given: Dense, shape: Iterable[int], dtype: str | None = None) -> Dense:
    """The type with another shape (and dtype), contiguous."""
    return Dense(dtype or given.dtype, tuple(int(extent) for extent in shape))


def like(given: Dense) -> Dense:
    """The type as a fresh contiguous tensor."""
    return replace(given, strides=None)


def same_as_first(call: OpCall) -> Dense:
    """Type inference of operators whose result has the type of their first operand."""
    return like(next(one for one in call.types.values() if isinstance(one, Dense)))


def many_integers(call: OpCall, name: str, count: int) -> tuple[int, ...]:
    """An attribute given as one integer or as `count` integers."""
    found = call.attr(name)
    if isinstance(found, tuple):
        whole = call.integers(name)
        if len(whole) == 1:
            return whole * count
        if len(whole) != count:
            raise ConstraintViolated(f"{name}={found}: expected {count} integers")
        return whole
    return (call.integer(name),) * count


def product(extents: Iterable[int]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape; `ConstraintViolated` where two extents differ and neither is 1."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for place in range(-rank, 0):
        extents = {shape[place] for shape in shapes if len(shape) >= -place} - {1}
        if len(extents) > 1:
            raise ConstraintViolated(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def has(*operands: str) -> Callable[[OpCall], bool]:
    """A form's condition: these optional operands are given."""
    return lambda call: all(call.has(operand) for operand in operands)


def lacks(*operands: str) -> Callable[[OpCall], bool]:
    """A form's condition: these optional operands are absent."""
    return lambda call: not any(call.has(operand) for operand in operands)


def axis_is(place: int, name: str = "dim", operand: str = "x") -> Callable[[OpCall], bool]:
    """A form's condition: the attribute names this axis, counted from the front (or the back)."""

    def holds(call: OpCall) -> bool:
        rank = call[operand].rank
        if not -rank <= place < rank:
            return False
        return axis(call.integer(name), rank) == place % rank

    return holds


def torch_method(name: str) -> str:
    """Where PyTorch documents that a Tensor method is the function of the same name."""
    return f"torch.Tensor.{name}: see torch.{name}()"


def mindspore_method(name: str, function: str = "") -> str:
    """Where MindSpore documents that a Tensor method is a function."""
    return f"mindspore.Tensor.{name}: for details refer to mindspore.ops.{function or name}"


def mindspore_primitive(name: str, function: str) -> str:
    """Where MindSpore documents that a primitive class is a function."""
    return f"mindspore.ops.{name}: refer to mindspore.ops.{function} for more details"


def default(api: str, given: str) -> str:
    """Where a signature states the default that a form leaves out."""
    return f"{api}: the signature's default is {given}"


def limited(dtypes: tuple[str, ...], forms: Mapping[str, str | Form]) -> dict[str, Form]:
    """The forms, with these dtypes of the first operand where a form names none itself."""
    found = {name: Form(one) if isinstance(one, str) else one for name, one in forms.items()}
    return {
        name: one if one.dtypes is not None else replace(one, dtypes=dtypes)
        for name, one in found.items()
    }


def shape_of(given: Dense, *ranks: int) -> tuple[int, ...]:
    """The concrete shape of a tensor of one of these ranks; `ConstraintViolated` otherwise."""
    if given.rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ConstraintViolated(f"a tensor of rank {given.rank}, expected rank {wanted}")
    return static(given)
