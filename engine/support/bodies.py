"""Calls of the operators that have bodies: the plainest body that each can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.ir.graph import Input, Region
from engine.ir.types import Dense
from engine.ops import OpSpec
from engine.ops.examples import Example
from engine.ops.families import sample
from engine.ops.spec import call_of
from engine.ops.typing import parse_body

__all__ = ["DTYPES", "NO_BODY", "calls_with_bodies"]

DTYPES = ("float32", "float64", "float16", "int32", "int64")
"""The dtypes in which bodies are written: what is summed in them and compared is defined."""
NO_BODY = f"bodies are written for {', '.join(DTYPES)}"

_SHAPE = (2, 2)
_TURNS = 2
_GROW = "turn = mul(carried, carried)"
_TEST = "total = sum(carried; dim=none, keepdim=false)\nholds = gt_scalar(total; value=1)"
_SHOW = f"{_GROW}\nshown = add(turn, element)"
_BODIES: Mapping[str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
    "for": ((_GROW, ("carried",), ("turn",)),),
    "while": ((_TEST, ("carried",), ("holds",)), (_GROW, ("carried",), ("turn",))),
    "map": ((_GROW, ("carried",), ("turn",)),),
    "filter": ((_TEST, ("carried",), ("holds",)),),
    "scan": ((_SHOW, ("carried", "element"), ("turn", "shown")),),
}
_OPERANDS: Mapping[str, tuple[str, ...]] = {
    "for": ("x",),
    "while": ("x",),
    "map": ("x", "y"),
    "filter": ("x", "y"),
    "scan": ("first", "x", "y"),
}


def calls_with_bodies(spec: OpSpec, dtype: str) -> Iterator[Example]:
    """The call of an operator with bodies in a dtype; none where no body is written in it."""
    if dtype not in DTYPES or dtype not in spec.dtypes:
        return
    kind = Dense(dtype, _SHAPE)
    names = _OPERANDS[spec.name]
    inputs = tuple(
        sample(name, kind, seed=at, domain=(0.0, 2.0)) for at, name in enumerate(names, 1)
    )
    attrs = {name: values[0] for name, values in spec.attrs.items()}
    call = call_of(spec, [kind] * len(names), attrs)
    regions = tuple(_region(text, taken, given, kind) for text, taken, given in _BODIES[spec.name])
    yield Example(spec, inputs, names, attrs, call, spec.check(call), regions, _TURNS)


def _region(text: str, taken: tuple[str, ...], given: tuple[str, ...], kind: Dense) -> Region:
    nodes = parse_body(text, dict.fromkeys(taken, kind))
    return Region(tuple(Input(name, kind) for name in taken), (), nodes, given)
