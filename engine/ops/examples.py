"""Example calls of a row: a type for its first operand, attributes, and inputs that fit.

What the table's own tests run, and what `flowmut ops` shows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Graph, Input, Node, Region
from engine.ir.types import Dense, Type
from engine.ops.families import sample
from engine.ops.spec import OpCall, OpSpec, call_of
from engine.ops.typing import retype_node

__all__ = ["Example", "attribute_values", "examples", "further_calls", "plainest_calls"]


@dataclass(frozen=True)
class Example:
    """A legal call. `operands` are names of `inputs`, None for an absent operand; `regions` are the
    bodies of a node that has some, `bound` the most turns of them."""

    spec: OpSpec
    inputs: tuple[Input, ...]
    operands: tuple[str | None, ...]
    attrs: Mapping[str, Attr]
    call: OpCall
    type: Type
    regions: tuple[Region, ...] = ()
    bound: int | None = None

    def node(self, *, forms: Mapping[str, str] | None = None) -> Node:
        """The call as a node named v0, written in the given form of each framework."""
        types = {one.name: one.type for one in self.inputs}
        node = Node(
            "v0",
            self.spec.name,
            self.operands,
            self.type,
            attrs=tuple(sorted(self.attrs.items())),
            forms=tuple(sorted((forms or {}).items())),
            regions=self.regions,
            bound=self.bound,
        )
        return retype_node(node, types)

    def graph(self, *, forms: Mapping[str, str] | None = None) -> Graph:
        """The call alone in a graph; the values of a tuple are its outputs."""
        node = self.node(forms=forms)
        return Graph(self.spec.name, self.inputs, (node,), ("v0",))


def attribute_values(spec: OpSpec) -> Iterator[dict[str, Attr]]:
    """Every combination of attribute values, those that differ least from the ordinary first."""
    names = list(spec.attrs)
    choices = [range(len(spec.attrs[name])) for name in names]
    for picked in sorted(itertools.product(*choices), key=lambda one: (sum(map(bool, one)), one)):
        yield {name: spec.attrs[name][at] for name, at in zip(names, picked, strict=True)}


def examples(
    spec: OpSpec, *, dtypes: Sequence[str] | None = None, shapes: Sequence[tuple[int, ...]] = ()
) -> Iterator[Example]:
    """Legal calls: dtypes, then shapes, then attributes, each ordinary first.

    Of optional operands each call is shown with all, and after that with some or none.
    """
    for dtype in spec.dtypes if dtypes is None else dtypes:
        for shape in shapes or spec.shapes:
            for attrs in attribute_values(spec):
                for absent in _absences(spec):
                    found = _example(spec, Dense(dtype, shape), attrs, absent)
                    if found is not None:
                        yield found


def plainest_calls(spec: OpSpec, framework: str, dtype: str) -> Iterator[tuple[Example, list[str]]]:
    """Examples, each with the forms that hold for it and for no earlier one; a form with a limit in
    the dtype is left out."""
    left = [name for name in spec.forms[framework] if not spec.limits_of(framework, name, [dtype])]
    for example in examples(spec, dtypes=[dtype]):
        if not left:
            return
        names = [name for name in left if spec.forms[framework][name].holds(example.call)]
        if names:
            left = [name for name in left if name not in names]
            yield example, names


def further_calls(spec: OpSpec, framework: str, dtype: str) -> Iterator[tuple[str, Example, str]]:
    """Calls that differ from the plainest in one thing, which is said: an attribute off its
    ordinary value, another shape, an operand left out; each with the plainest form that holds."""
    plain = next(attribute_values(spec))
    first, *others = spec.shapes
    tried: list[tuple[str, tuple[int, ...], Mapping[str, Attr], frozenset[str]]] = []
    for name, values in spec.attrs.items():
        for value in values[1:]:
            tried.append((f"{name}={value!r}", first, {**plain, name: value}, frozenset()))
    tried += [(f"shape {shape}", shape, plain, frozenset()) for shape in others]
    tried += [
        (f"without {', '.join(sorted(one))}", first, plain, one) for one in _absences(spec) if one
    ]
    for words, shape, attrs, absent in tried:
        example = _example(spec, Dense(dtype, shape), attrs, absent)
        if example is None:
            continue
        names = [
            name
            for name in spec.forms_for(framework, example.call)
            if not spec.limits_of(framework, name, [dtype])
        ]
        if names:
            yield words, example, names[0]


def _absences(spec: OpSpec) -> list[frozenset[str]]:
    """Which optional operands to leave out, none first."""
    optional = [slot.name for slot in spec.operands if slot.optional]
    sizes = range(len(optional) + 1)
    return [frozenset(one) for size in sizes for one in itertools.combinations(optional, size)]


def _example(
    spec: OpSpec, kind: Dense, attrs: Mapping[str, Attr], absent: frozenset[str]
) -> Example | None:
    first = sample(spec.first.name, kind, seed=0, domain=spec.domain)
    try:
        beside = dict(spec.companions(kind, attrs)) if spec.companions else {}
        if not absent <= beside.keys():
            return None  # it is absent already: the same call as with fewer left out
        for name in absent:
            del beside[name]
        inputs, operands = _gathered(spec, first, beside)
        types = {one.name: one.type for one in inputs}
        call = call_of(spec, [None if one is None else types[one] for one in operands], attrs)
        return Example(spec, inputs, operands, dict(attrs), call, spec.check(call))
    except ConstraintViolated:
        return None


def _gathered(
    spec: OpSpec, first: Input, beside: Mapping[str, Input | tuple[Input, ...]]
) -> tuple[tuple[Input, ...], tuple[str | None, ...]]:
    inputs = [first]
    operands: list[str | None] = [first.name]
    rest = spec.operands if spec.first.variadic else spec.operands[1:]
    for slot in rest:
        found = beside.get(slot.name)
        if slot.variadic:
            several = found if isinstance(found, tuple) else ()
            named = [replace(one, name=f"{slot.name}{at}") for at, one in enumerate(several)]
            inputs += named
            operands += [one.name for one in named]
        elif isinstance(found, Input):
            inputs.append(replace(found, name=slot.name))
            operands.append(slot.name)
        else:
            operands.append(None)
    return tuple(inputs), tuple(operands)
