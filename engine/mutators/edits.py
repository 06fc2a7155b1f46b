"""What edits are made of: a draft of a graph under edit, operators introduced at a value, adapters.

A draft has a cursor. `emit` puts a node there; `redirect` makes the uses behind the cursor read
another value. Nothing here repairs: an edit that cannot be made raises `ConstraintViolated`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case, Plan
from engine.ir.graph import Attr, Formula, Init, Input, Literal, Node, Region
from engine.ir.types import COMPLEX, DTYPES, FLOATS, INTEGERS, Dense, Tuple, Type, dense, is_float
from engine.ops.spec import FRAMEWORKS, OPS, Form, OpSpec, call_of
from engine.ops.typing import ITEM, assume_type, bind, retype_node

__all__ = ["Draft", "Unchecked", "forms_of", "legal_attrs", "renamed_uses"]

ORDINARY = (-2.0, 2.0)
"""A domain that reaches at least so far on a side demands nothing there."""

GROWING = frozenset({"exp", "exp2", "expm1", "sinh", "cosh", "square", "i0", "rpow_scalar", "exp_"})
"""Operators whose results outgrow float16 or float32 when they are inserted again and again."""

ATTEMPTS = 48
"""Attribute combinations that are tried before an operator is said not to fit."""


# --------------------------------------------------------------------------------- forms
def forms_of(
    node: Node, types: Mapping[str, Type], inputs: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Framework -> names of the forms in which the node's call may be written, plainest first.

    A form whose setup names an operand holds only where that operand is a graph input.
    """
    if node.op == ITEM:
        return {}
    given = tuple(None if one is None else types[one] for one in node.operands)
    held = tuple(one in inputs for one in node.operands)
    # A node is the same object in most graphs of a chain, mostly at operands of the same types.
    memory = node.__dict__.get("_forms")
    if memory is None or memory[0] != given or memory[1] != held:
        memory = (given, held, _all_forms(node, given, inputs))
        node.__dict__["_forms"] = memory
    found: dict[str, tuple[str, ...]] = memory[2]
    return found


def _all_forms(
    node: Node, given: tuple[Type | None, ...], inputs: Collection[str]
) -> dict[str, tuple[str, ...]]:
    spec = OPS[node.op]
    holding = _holding(node.op, given, node.attrs)
    bound = bind(spec, node.operands)
    return {
        framework: tuple(
            name
            for name in holding[framework]
            if _setup_holds(spec.forms[framework][name], bound, inputs)
        )
        for framework in FRAMEWORKS
    }


@lru_cache(maxsize=1 << 14)
def _holding(
    op: str, operands: tuple[Type | None, ...], attrs: tuple[tuple[str, Attr], ...]
) -> Mapping[str, tuple[str, ...]]:
    """Forms that hold for operands of these types; models repeat their calls, so it is kept."""
    spec = OPS[op]
    call = call_of(spec, operands, dict(attrs))
    return {framework: spec.forms_for(framework, call) for framework in FRAMEWORKS}


def _setup_holds(
    form: Form, bound: Mapping[str, str | tuple[str, ...] | None], inputs: Collection[str]
) -> bool:
    for operand in form.setup_placeholders & bound.keys():
        found = bound[operand]
        if any(
            one not in inputs for one in (found if isinstance(found, tuple) else (found,)) if one
        ):
            return False
    return True


# --------------------------------------------------------------------------------- attributes
def legal_attrs(spec: OpSpec, rng: np.random.Generator, **fixed: Attr) -> Iterator[dict[str, Attr]]:
    """Attribute combinations of a row, the ordinary one first, then random ones without repeats.

    Whether one is legal for given operands is not known here.
    """
    free = [name for name in spec.attrs if name not in fixed]
    first = {**{name: spec.attrs[name][0] for name in free}, **fixed}
    choices = math.prod(len(spec.attrs[name]) for name in free)
    if choices <= ATTEMPTS:
        every = [
            dict(zip(free, one, strict=True))
            for one in itertools.product(*(spec.attrs[n] for n in free))
        ]
        yield from ({**every[at], **fixed} for at in rng.permutation(len(every)))
        return
    yield first
    for _ in range(ATTEMPTS):
        picked = {name: spec.attrs[name][int(rng.integers(len(spec.attrs[name])))] for name in free}
        yield {**picked, **fixed}


def guard_of(spec: OpSpec) -> tuple[float | None, float | None]:
    """The bounds within which the first operand is held; None where nothing is demanded."""
    if spec.name in GROWING:
        return -4.0, 4.0
    low, high = spec.domain
    return (low if low > ORDINARY[0] else None), (high if high < ORDINARY[1] else None)


def first_dtype(spec: OpSpec, preferred: str) -> str:
    """A dtype that the first operand may have: the preferred one if possible."""
    kind = spec.first.kind
    table = {"free": DTYPES, "float": FLOATS, "integer": INTEGERS}
    allowed = spec.dtypes if kind in ("any", "same") else table.get(kind, (kind,))
    for dtype in (preferred, "float32", "int32", "int64"):
        if dtype in allowed:
            return dtype
    return allowed[0]


# --------------------------------------------------------------------------------- uses
def renamed_uses(node: Node, old: str, new: str, slots: Collection[int] | None = None) -> Node:
    """The node with uses of `old` replaced: all, or operands at `slots` only."""

    def swapped(at: int, name: str | None) -> str | None:
        return new if name == old and (slots is None or at in slots) else name

    operands = tuple(swapped(at, name) for at, name in enumerate(node.operands))
    regions = (
        node.regions
        if slots is not None
        else tuple(_captured(one, old, new) for one in node.regions)
    )
    moved = {was: now for was, now in zip(node.operands, operands, strict=True) if was is not None}
    return replace(
        node,
        operands=operands,
        regions=regions,
        writes=None if node.writes is None else moved.get(node.writes, node.writes),
        views=None if node.views is None else moved.get(node.views, node.views),
    )


def _captured(region: Region, old: str, new: str) -> Region:
    captures = tuple((inner, new if outer == old else outer) for inner, outer in region.captures)
    return replace(region, captures=captures)


# --------------------------------------------------------------------------------- draft
@dataclass(frozen=True)
class Unchecked(Case):
    """A case whose edits keep the first thing they draw, whether operators take it or not.

    For the experiment on legality, which needs mutants from before any filter.
    """

    @classmethod
    def of(cls, case: Case) -> Unchecked:
        return cls(case.graph, case.plan, case.claim)


class Draft:
    """A case under edit. Use once: place the cursor, emit, redirect, `finish`.

    Of an `Unchecked` case, a node that its operator refuses stays in, under an assumed type.
    """

    def __init__(self, case: Case, rng: np.random.Generator) -> None:
        self.case = case
        self.rng = rng
        self.is_checked = not isinstance(case, Unchecked)
        self.nodes: list[Node] = list(case.graph.nodes)
        self.inputs: list[Input] = list(case.graph.inputs)
        self.outputs: list[str] = list(case.graph.outputs)
        self.types: dict[str, Type] = dict(case.graph.types)
        self.plan: Plan = case.plan
        self.cursor = len(self.nodes)
        self._reserved = set(self.types)
        self._number = len(self.nodes)

    # ------------------------------------------------------------------ reading
    def dense(self, value: str) -> Dense:
        """The type of a dense value of known shape."""
        found = self.types[value]
        if not isinstance(found, Dense) or not found.is_static:
            raise ConstraintViolated(f"{value}: expected a dense tensor of known shape")
        return found

    def shape(self, value: str) -> tuple[int, ...]:
        return self.dense(value).extents

    def node(self, name: str) -> Node:
        return next(one for one in self.nodes if one.name == name)

    def flip(self, chance: float = 0.5) -> bool:
        return bool(self.rng.random() < chance)

    def pick(self, choices: Sequence[str]) -> str:
        if not choices:
            raise ConstraintViolated("nothing to choose from")
        return choices[int(self.rng.integers(len(choices)))]

    # ------------------------------------------------------------------ placing
    def after(self, value: str) -> Draft:
        """Cursor behind the definition of a value (the beginning for a graph input)."""
        self.cursor = 0
        for place, node in enumerate(self.nodes):
            if node.name == value:
                self.cursor = place + 1
        return self

    def before(self, name: str) -> Draft:
        self.cursor = next(place for place, node in enumerate(self.nodes) if node.name == name)
        return self

    def fresh(self, stem: str = "v") -> str:
        """A name that neither the draft nor the parent uses."""
        while f"{stem}{self._number}" in self._reserved:
            self._number += 1
        name = f"{stem}{self._number}"
        self._reserved.add(name)
        return name

    # ------------------------------------------------------------------ adding
    def add_input(
        self,
        type_: Dense,
        init: Init,
        *,
        role: str = "constant",
        stem: str = "k",
        like: Input | None = None,
    ) -> str:
        """A new graph input under a fresh name."""
        name = self.fresh(stem)
        base = like or Input(name, type_)
        self.inputs.append(replace(base, name=name, type=type_, init=init, role=role))
        self.types[name] = type_
        return name

    def constant(self, dtype: str, *values: float | int | bool, shape: tuple[int, ...] = ()) -> str:
        """A constant with its values written out; a scalar tensor by default."""
        return self.add_input(dense(dtype, *shape), Literal(tuple(values)))

    def full(self, type_: Dense, value: float) -> str:
        init = Formula("full", (("value", value),))
        return self.add_input(Dense(type_.dtype, type_.extents), init)

    def emit(self, op: str, *operands: str | None, plain: bool = False, **attrs: Attr) -> str:
        """A node at the cursor; attributes that are not given take their ordinary value.

        It is written in a random form that holds, unless `plain`.
        """
        return self.call(op, operands, attrs, plain=plain)

    def call(
        self,
        op: str,
        operands: Sequence[str | None],
        attrs: Mapping[str, Attr],
        *,
        plain: bool = False,
    ) -> str:
        """`emit` with operands and attributes as data."""
        given = {**{name: values[0] for name, values in OPS[op].attrs.items()}, **attrs}
        made = tuple(sorted(given.items()))
        node = Node(self.fresh(), op, tuple(operands), dense("float32"), made)
        return self.put(node, plain=plain)

    def put(self, node: Node, *, plain: bool = False) -> str:
        """A finished node at the cursor, with its type inferred.

        A call that is refused is written plainly: other forms are equal only where it is not.
        """
        node, is_refused = self._typed(node)
        self.nodes.insert(self.cursor, node)
        self.cursor += 1
        self.types[node.name] = node.type
        if not plain and not is_refused:
            self.reform(node.name)
        return node.name

    def typed(self, node: Node) -> Node:
        """The node with its inferred type; an assumed one where the case is unchecked."""
        return self._typed(node)[0]

    def _typed(self, node: Node) -> tuple[Node, bool]:
        try:
            return retype_node(node, self.types), False
        except ConstraintViolated:
            if self.is_checked:
                raise
            return assume_type(node, self.types), True

    def reform(self, name: str) -> None:
        """Write a node in random legal forms."""
        node = self.node(name)
        held = {one.name for one in self.inputs}
        for framework, names in forms_of(node, self.types, held).items():
            if names:
                node = node.with_form(framework, names[int(self.rng.integers(len(names)))])
        self.replace_node(node)

    def introduce(self, op: str, value: str, **fixed: Attr) -> str:
        """An operator whose first operand is `value`; its companions become graph inputs.

        Attributes are drawn until its requirements hold.
        """
        spec, given = OPS[op], self.dense(value)
        refusal = ConstraintViolated(f"{op}: no attributes are legal for {given}")
        for attrs in self.attrs_of(spec, **fixed):
            try:
                beside = dict(spec.companions(given, attrs)) if spec.companions else {}
                if self.is_checked:
                    self._check_beside(spec, given, beside, attrs)
            except ConstraintViolated as one:
                refusal = one
                continue
            operands: list[str | None] = [value]
            for operand in spec.operands[1:]:
                operands += self._companions(beside.get(operand.name), variadic=operand.variadic)
            return self.call(op, operands, attrs)
        raise refusal

    def attrs_of(self, spec: OpSpec, **fixed: Attr) -> Iterator[dict[str, Attr]]:
        """Attributes to try, see `legal_attrs`; one random combination where nothing is checked."""
        if self.is_checked:
            return legal_attrs(spec, self.rng, **fixed)
        drawn = {
            name: listed[int(self.rng.integers(len(listed)))] for name, listed in spec.attrs.items()
        }
        return iter(({**drawn, **fixed},))

    def admit(self, op: str, value: str) -> str:
        """The value in a dtype that the operator takes, held in its domain where that is narrow."""
        spec, given = OPS[op], self.dense(value)
        wanted = first_dtype(spec, given.dtype) if self.is_checked else given.dtype
        value = self.cast(value, wanted)
        low, high = guard_of(spec)
        if is_float(wanted) and (low is not None or high is not None):
            value = self.emit("clamp", value, min=low, max=high)
        return value

    def introduce_fitted(self, op: str, value: str) -> str:
        """An operator at a value, which is brought to a listed shape where its own will not do."""
        spec, value = OPS[op], self.admit(op, value)
        try:
            return self.introduce(op, value)
        except ConstraintViolated:
            shapes = [shape for shape in spec.shapes if 0 not in shape]
            if not shapes:
                raise
        shape = shapes[int(self.rng.integers(len(shapes)))]
        return self.introduce(op, self.fit(value, dense(self.dense(value).dtype, *shape)))

    def item(self, value: str, index: int) -> str:
        return self.put(Node(self.fresh(), ITEM, (value,), dense("float32"), (("index", index),)))

    def parts(self, value: str, *, most: int | None = None) -> tuple[str, ...]:
        """The value, or the items of a tuple, at most so many."""
        found = self.types[value]
        if not isinstance(found, Tuple):
            return (value,)
        return tuple(self.item(value, index) for index in range(len(found.items))[:most])

    def _check_beside(
        self,
        spec: OpSpec,
        given: Dense,
        beside: Mapping[str, Input | tuple[Input, ...]],
        attrs: Mapping[str, Attr],
    ) -> None:
        types: list[Type | None] = [given]
        for operand in spec.operands[1:]:
            found = beside.get(operand.name)
            if operand.variadic:
                types += [one.type for one in found] if isinstance(found, tuple) else []
            else:
                types.append(found.type if isinstance(found, Input) else None)
        spec.check(call_of(spec, types, attrs))

    def _companions(
        self, found: Input | tuple[Input, ...] | None, *, variadic: bool
    ) -> list[str | None]:
        if found is None:
            return [] if variadic else [None]
        added: list[str | None] = []
        for one in found if isinstance(found, tuple) else (found,):
            if not isinstance(one.type, Dense):
                raise ConstraintViolated(f"companion {one.name} is no dense tensor")
            role = "weight" if one.role == "weight" else "constant"
            stem = "w" if role == "weight" else "k"
            added.append(self.add_input(one.type, one.init, role=role, stem=stem, like=one))
        return added

    # ------------------------------------------------------------------ changing
    def revise(self, node: Node) -> None:
        """A node in place of the one of its name; users get the type they had, by an adapter."""
        old = self.types[node.name]
        node = self.typed(node)
        self.replace_node(node)
        self.types[node.name] = node.type
        if node.type == old:
            return
        if not isinstance(old, Dense):
            raise ConstraintViolated(f"{node.name}: the result would be {node.type}, was {old}")
        self.after(node.name)
        self.redirect(node.name, self.repaired(node.name, old))

    def replace_by(self, old: str, new: str) -> None:
        """Uses of `old` read `new`, fitted to its type; what that leaves unread goes."""
        self.redirect(old, self.repaired(new, self.dense(old)))
        self.prune()

    def replace_node(self, node: Node) -> None:
        """The node of the same name, replaced where it stands."""
        self.nodes = [node if one.name == node.name else one for one in self.nodes]

    def redirect(
        self,
        old: str,
        new: str,
        *,
        only: Collection[str] | None = None,
        slots: Collection[int] | None = None,
        outputs: bool = True,
    ) -> None:
        """Uses of `old` behind the cursor read `new`; `only` these consumers, at these `slots`."""
        for place in range(self.cursor, len(self.nodes)):
            node = self.nodes[place]
            if old in node.uses and (only is None or node.name in only):
                self.nodes[place] = renamed_uses(node, old, new, slots)
        if outputs and only is None:
            self.outputs = [new if name == old else name for name in self.outputs]

    def remove(self, name: str) -> None:
        """Take a node out; its uses must have been redirected."""
        place = next(at for at, node in enumerate(self.nodes) if node.name == name)
        del self.nodes[place]
        if place < self.cursor:
            self.cursor -= 1

    def prune(self) -> None:
        """Drop nodes that nothing reads and that write nothing, then weights and constants."""
        wanted = set(self.outputs)
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if node.name in wanted or node.writes is not None:
                kept.append(node)
                wanted.update(node.uses)
        self.nodes = kept[::-1]
        self.inputs = [one for one in self.inputs if one.name in wanted or one.role == "input"]

    def add_output(self, value: str) -> None:
        """A further output; a loss that used all outputs may use this one as well.

        `ConstraintViolated` where a node writes to it: the graph returns what is there at its end.
        """
        if any(node.writes == value for node in self.nodes):
            raise ConstraintViolated(f"{value} is overwritten before the graph returns")
        self.outputs.append(value)

    def finish(self) -> Case:
        graph = replace(
            self.case.graph,
            inputs=tuple(self.inputs),
            nodes=tuple(self.nodes),
            outputs=tuple(self.outputs),
        )
        return replace(self.case, graph=graph, plan=self.plan)

    # ------------------------------------------------------------------ adapters
    def cast(self, value: str, dtype: str) -> str:
        """The value in a dtype; itself where it has it already.

        A complex value gets an imaginary part of its own, and is read back as its real part.
        """
        have = self.dense(value).dtype
        if have == dtype:
            return value
        if dtype in COMPLEX:
            return self.introduce("complex", self.cast(value, "float32"))
        if have in COMPLEX:
            return self.cast(self.emit("real", value), dtype)
        if dtype == "uint8" and is_float(have):
            # A negative floating number has no value in uint8, while an integer wraps round.
            value = self.emit("cast", value, dtype="int32")
        return self.emit("cast", value, dtype=dtype)

    def reshape(self, value: str, shape: tuple[int, ...]) -> str:
        return value if self.shape(value) == shape else self.emit("reshape", value, shape=shape)

    def fit(self, value: str, wanted: Dense) -> str:
        """The value in a wanted dtype and shape: cast, broadcast, reshaped, cut or repeated."""
        value = self.cast(value, wanted.dtype)
        have, want = self.shape(value), wanted.extents
        if have == want:
            return value
        if math.prod(have) == math.prod(want):
            return self.reshape(value, want)
        if _expands(have, want):
            return self.emit("expand", value, shape=want)
        return self._resize(value, want)

    def repaired(self, value: str, wanted: Dense) -> str:
        """A value that leaves the replacement, fitted to the type that its users had.

        Left as it is where the case is unchecked: whether users take it is for the filter to say.
        """
        return self.fit(value, wanted) if self.is_checked else value

    def _resize(self, value: str, want: tuple[int, ...]) -> str:
        count, total = math.prod(self.shape(value)), math.prod(want)
        if count == 0 or total == 0:
            raise ConstraintViolated(f"{value}: an empty tensor cannot be fitted to {want}")
        flat = self.reshape(value, (count,))
        if count < total:
            repeats = -(-total // count)
            spread = self.emit("expand", self.reshape(flat, (1, count)), shape=(repeats, count))
            flat = self.reshape(spread, (repeats * count,))
        if math.prod(self.shape(flat)) > total:
            flat = self.emit("slice", flat, dim=0, start=0, stop=total, step=1)
        return self.reshape(flat, want)

    def bounded(self, value: str, low: float = -4.0, high: float = 4.0) -> str:
        """The value held in an interval, so that what follows stays well conditioned."""
        if not is_float(self.dense(value).dtype):
            return self.emit("clamp", value, min=int(low), max=int(high))
        return self.emit("clamp", value, min=low, max=high)

    def scaled(self, value: str, factor: float) -> str:
        return self.emit("mul_scalar", value, value=factor)

    def fold_back(self, base: str, side: str, factor: float = 0.125) -> str:
        """`base + factor * side`, with the side fitted to the base and bounded."""
        wanted = self.dense(base)
        if not is_float(wanted.dtype):
            raise ConstraintViolated(f"{base}: a side branch is folded into floating values only")
        fitted = self.bounded(self.fit(side, wanted))
        return self.emit("add", base, self.scaled(fitted, factor))


def _expands(have: tuple[int, ...], want: tuple[int, ...]) -> bool:
    if len(have) > len(want):
        return False
    padded = (1,) * (len(want) - len(have)) + have
    return all(small in (1, large) for small, large in zip(padded, want, strict=True))
