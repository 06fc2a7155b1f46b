"""What is unusual about the input of a minimised program: what upstream calls an edge case."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.ir.case import Case
from engine.ir.graph import Formula, Init, Input, Literal, Random
from engine.ir.text import parse_case
from engine.ir.types import Dense

__all__ = ["unusual"]

# What models are made of; int8, int16, uint8 and complex numbers are for specialists.
_DTYPES = frozenset({"float16", "bfloat16", "float32", "float64", "int32", "int64", "bool"})
# Numbers between these are ordinary, and 0 is; outside they over- or underflow before long.
_SMALLEST, _GREATEST = 1e-4, 1e4


def unusual(text: str) -> tuple[str, ...]:
    """What of a case's input no ordinary program would have, in words; empty where nothing is.

    Looked at are dtypes, extents, shared memory, and values of inputs in every call, and attributes
    of the operators. `BadInput` where the text cannot be read.
    """
    return tuple(dict.fromkeys(_oddities(parse_case(text))))


def _oddities(case: Case) -> Iterator[str]:
    for call in case.plan.calls:
        for given in case.inputs_of(call):
            yield from _of_input(given)
    for node in case.graph.nodes:
        for name, value in node.attrs:
            if isinstance(value, float) and not math.isfinite(value):
                yield f"{name} of {node.op} is {_word(value)}"


def _of_input(given: Input) -> Iterator[str]:
    if isinstance(given.type, Dense):
        if given.type.dtype not in _DTYPES:
            yield f"{given.name} is {given.type.dtype}"
        if 0 in given.type.shape:
            yield f"{given.name} is empty"
    if given.alias:
        yield f"{given.name} shares its memory"
    for number in _numbers(given.init):
        if not math.isfinite(number):
            yield f"{_word(number)} in {given.name}"
        elif number and not _SMALLEST <= abs(number) <= _GREATEST:
            yield f"values like {number:.3g} in {given.name}"
            return


def _numbers(init: Init) -> Iterator[float]:
    """The written values, or the parameters that bound computed ones."""
    match init:
        case Literal(values):
            for value in values:
                yield abs(value) if isinstance(value, complex) else float(value)
        case Random(_, _, parameters) | Formula(_, parameters):
            for _, given in parameters:
                for one in given if isinstance(given, tuple) else (given,):
                    if isinstance(one, int | float):
                        yield float(one)


def _word(number: float) -> str:
    return "NaN" if math.isnan(number) else "Inf"
