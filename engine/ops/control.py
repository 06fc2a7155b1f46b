"""Loops with bodies. They are written as Python statements, so their forms are only named here.

`for` runs its body `trips` times. `while` runs it at most `bound` times; with two bodies the first
is its condition, tested before each turn. The operands are carried: the last body takes them as
its parameters and yields as many values of the same types.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import ConstraintViolated
from engine.ir.types import DTYPES, Dense, Tuple, Type
from engine.ops.spec import Form, OpCall, Tolerance, op

__all__ = ["carried"]


def carried(call: OpCall) -> Type:
    """The type of the one value that a loop carries, or the tuple of all."""
    types = call.types["carried"]
    if not isinstance(types, tuple) or not types:
        raise ConstraintViolated("a loop carries at least one value")
    return types[0] if len(types) == 1 else Tuple(types)


def _dense(call: OpCall) -> Iterator[tuple[bool, str]]:
    types = call.types["carried"]
    assert isinstance(types, tuple)
    yield (
        all(isinstance(one, Dense) and one.is_static for one in types),
        "carries dense tensors of static shape only",
    )


def _statement(*_: object, **__: object) -> object:
    raise NotImplementedError("a loop is evaluated by the interpreter of graphs")


_FORMS = {"builtin": Form("{carried}")}
# The count of turns beside the condition in one expression, instead of a statement of its own.
_WHILE_FORMS = {
    **_FORMS,
    "builtin_and": Form("({carried})", source="Python: `a and b` is true where both are"),
}

op(
    "for",
    "carried*:free",
    attrs={"trips": (2, 1, 3, 0)},
    dtypes=DTYPES,
    infer=carried,
    requires=_dense,
    reference=_statement,
    torch=_FORMS,
    mindspore=_FORMS,
    tolerance=Tolerance.EXACT,
    tags={"control"},
    doc="Run the body a fixed number of times: `for turn in range(trips)`.",
)

op(
    "while",
    "carried*:free",
    dtypes=DTYPES,
    infer=carried,
    requires=_dense,
    reference=_statement,
    torch=_WHILE_FORMS,
    mindspore=_WHILE_FORMS,
    tolerance=Tolerance.EXACT,
    tags={"control"},
    doc="Run the body at most `bound` times, as long as the condition body, if any, yields true.",
)
