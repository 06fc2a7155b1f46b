"""Nodes with bodies. They are written as Python statements, so their forms are only named here.

`for` runs its body `trips` times. `while` runs it at most `bound` times; with two bodies the first
is its condition, tested before each turn. Their operands are carried: the last body takes them as
its parameters and yields as many values of the same types.

`map`, `filter` and `scan` go over elements, all of one type. The body of `map` takes one and yields
one. That of `filter` takes one and yields whether it is kept; the kept are added up, since what a
node yields has a type that is known beforehand. That of `scan` takes what is carried, which is the
first operand in the beginning, and an element; it yields what is carried on and what is shown. The
node yields what was carried last, then what was shown for each element.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import ConstraintViolated
from engine.ir.types import DTYPES, Dense, Tuple, Type
from engine.ops.rules import NUMBERS, like
from engine.ops.spec import Form, OpCall, Tolerance, op

__all__ = ["carried"]


def _types(call: OpCall, operand: str) -> tuple[Type, ...]:
    types = call.types[operand]
    if not isinstance(types, tuple) or not types:
        raise ConstraintViolated(f"{operand}: there is no value")
    return types


def carried(call: OpCall) -> Type:
    """The type of the one value that a loop carries, or the tuple of all."""
    types = _types(call, "carried")
    return types[0] if len(types) == 1 else Tuple(types)


def _dense(call: OpCall) -> Iterator[tuple[bool, str]]:
    types = call.types["carried"]
    assert isinstance(types, tuple)
    yield (
        all(isinstance(one, Dense) and one.is_static for one in types),
        "carries dense tensors of static shape only",
    )


def _alike(call: OpCall) -> Iterator[tuple[bool, str]]:
    types = _types(call, "elements")
    yield (
        all(isinstance(one, Dense) and one.is_static for one in types),
        "goes over dense tensors of static shape only",
    )
    yield len(set(types)) == 1, f"the elements are {types}, expected one type"
    if "first" in call.types:
        yield call["first"] == types[0], f"carries {call['first']} over elements {types[0]}"


def _statement(*_: object, **__: object) -> object:
    raise NotImplementedError("a node with bodies is evaluated by the interpreter of graphs")


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
    mindspore={
        **_FORMS,
        "primitive": Form(
            "ops.ForiLoop()({carried})",
            source="mindspore.ops.ForiLoop: for i in range(lower, upper):"
            " init_val = loop_func(i, init_val)",
        ),
    },
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
    mindspore={
        **_WHILE_FORMS,
        "primitive": Form(
            "ops.WhileLoop()({carried})",
            source="mindspore.ops.WhileLoop: while(cond_func(init_val)):"
            " init_val = loop_func(init_val)",
        ),
    },
    tolerance=Tolerance.EXACT,
    tags={"control"},
    doc="Run the body at most `bound` times, as long as the condition body, if any, yields true.",
)

_MAP_FORMS = {
    "builtin": Form("{elements}"),
    "builtin_list": Form(
        "[{elements}]", source="Python: a list comprehension holds the expression for each element"
    ),
}
op(
    "map",
    "elements*:free",
    dtypes=DTYPES,
    infer=lambda call: Tuple(_types(call, "elements")),
    requires=_alike,
    reference=_statement,
    torch={
        **_MAP_FORMS,
        "builtin_generator": Form(
            "({elements})", source="Python: tuple(f(x) for x in xs) is tuple(map(f, xs))"
        ),
    },
    mindspore={
        **_MAP_FORMS,
        "primitive": Form(
            "ops.Map()({elements})",
            source="mindspore.ops.Map: applies the set operation to the input sequences",
        ),
    },
    tolerance=Tolerance.EXACT,
    tags={"control"},
    doc="Run the body on each element: `tuple(map(body, elements))`.",
)

_FILTER_FORMS = {
    "builtin": Form("{elements}"),
    "builtin_list": Form(
        "[{elements}]", source="Python: filter(f, xs) is equivalent to [x for x in xs if f(x)]"
    ),
}
op(
    "filter",
    "elements*:any",
    dtypes=NUMBERS,
    infer=lambda call: like(call.many("elements")[0]),
    requires=_alike,
    reference=_statement,
    torch=_FILTER_FORMS,
    mindspore=_FILTER_FORMS,
    tolerance=Tolerance.EXACT,
    tags={"control"},
    doc="The sum of those elements for which the body yields true: `filter(keep, elements)`.",
)

_SCAN_FORMS = {"builtin": Form("{first}, {elements}")}
op(
    "scan",
    "first:free elements*:free",
    dtypes=DTYPES,
    infer=lambda call: Tuple((call["first"], *_types(call, "elements"))),
    requires=_alike,
    reference=_statement,
    torch=_SCAN_FORMS,
    mindspore={
        **_SCAN_FORMS,
        "primitive": Form(
            "ops.Scan()({first}, {elements})",
            source="mindspore.ops.Scan: for x in xs: carry, y = loop_func(carry, x); ys.append(y)",
        ),
    },
    tolerance=Tolerance.EXACT,
    tags={"control"},
    doc="Carry a value over elements, and show another for each.",
)
