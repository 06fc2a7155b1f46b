"""How an operator is declared: `op(...)` and the form of a call.

Everything about an operator is one row: operands, attribute values, dtypes, type inference,
requirements, NumPy reference, tolerance class, and per framework the *forms* in which the call can
be written. The text of a form is the text that runs and the text in the bug report.

Placeholders in a form: `{operand}` (a value name; a variadic operand renders as "a, b, c"; an
absent optional one as "None"), `{attribute}` (a Python literal; an attribute named `dtype` or
`*_dtype` renders as the framework's dtype), `{self}` (the object that the form's setup builds),
`{out}` (in `result`: the raw answer of the call).
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input, Node
from engine.ir.types import DTYPES, FLOATS, INTEGERS, Dense, Type

__all__ = [
    "FORM_NAMES",
    "FRAMEWORKS",
    "OPS",
    "Form",
    "Limit",
    "OpCall",
    "OpSpec",
    "Operand",
    "Tolerance",
    "call_of",
    "op",
]

Array: TypeAlias = "npt.NDArray[np.generic]"
FRAMEWORKS = ("torch", "mindspore")
FORM_NAMES = (
    "function",
    "method",
    "module",
    "primitive",
    "mint",
    "keyword",
    "default",
    "scalar",
    "tensor",
    "inplace",
    "operator",
    "builtin",
    "composed",
)

OPS: dict[str, OpSpec] = {}


class Tolerance(Enum):
    """How much two correct answers may differ; the figures live with the oracles."""

    EXACT = "exact"
    ELEMENTWISE = "elementwise"
    ACCUMULATING = "accumulating"
    TRANSCENDENTAL = "transcendental"


@dataclass(frozen=True)
class OpCall:
    """One call seen by `infer`, `requires`, `when` and `reference`: operand types and attributes.

    A variadic operand is a tuple of types; an absent optional operand is None.
    """

    types: Mapping[str, Type | tuple[Type, ...] | None]
    attrs: Mapping[str, Attr]

    def __getitem__(self, operand: str) -> Dense:
        """The dense type of an operand; `ConstraintViolated` when it is not a dense tensor."""
        found = self.types[operand]
        if not isinstance(found, Dense):
            raise ConstraintViolated(f"operand {operand}: saw {found}, expected a dense tensor")
        return found

    @property
    def first(self) -> Dense | None:
        """The type of the first dense operand, one of several included."""
        for found in self.types.values():
            for one in found if isinstance(found, tuple) else (found,):
                if isinstance(one, Dense):
                    return one
        return None

    def has(self, operand: str) -> bool:
        return self.types.get(operand) is not None

    def many(self, operand: str) -> tuple[Dense, ...]:
        """The types of a variadic operand."""
        found = self.types[operand]
        if not isinstance(found, tuple):
            raise ConstraintViolated(f"operand {operand}: saw {found}, expected several tensors")
        return tuple(one for one in found if isinstance(one, Dense))

    def attr(self, name: str) -> Attr:
        return self.attrs[name]

    def integer(self, name: str) -> int:
        found = self.attrs[name]
        assert isinstance(found, int), f"{name} is {found!r}"
        return int(found)

    def integers(self, name: str) -> tuple[int, ...]:
        found = self.attrs[name]
        assert isinstance(found, tuple), f"{name} is {found!r}"
        return tuple(int(one) for one in found if isinstance(one, int))


@dataclass(frozen=True)
class Operand:
    """An operand slot, written "x", "b?" (optional), "xs*" (variadic), "index:integer".

    `kind` limits dtypes: "any" (the op's dtypes), "same" (dtype of the first operand), "integer"
    (int64 by default), "bool", a dtype name, or "mixed" (any that `requires` lets promote).
    """

    name: str
    kind: str = "same"
    optional: bool = False
    variadic: bool = False

    @classmethod
    def parse(cls, text: str, *, first: bool) -> Operand:
        name, _, kind = text.partition(":")
        return cls(
            name.rstrip("?*"),
            kind or ("any" if first else "same"),
            optional=name.endswith("?"),
            variadic=name.endswith("*"),
        )


@dataclass(frozen=True)
class Form:
    """One way to write a call.

    `setup`: statements outside the compiled function (build `{self}`; an operand named here must be
    a graph input). `before`: statements inside, ahead of the call (an in-place statement). `call`:
    an expression. `when`: the attributes (or a predicate over the call) for which the form holds.
    `result`: an expression over `{out}` that picks the comparable part. `dtypes`: the dtypes of the
    first operand that the documentation allows. `source`: the documentation line that makes this
    form equal to the plainest one. `order` is kept: a Tensor method's `{x}` is its receiver.
    `no_gradient`: the documentation line by which the form has no derivative although the operator
    has one. `restrides`: it changes the strides of a view of its first operand in place, which may
    not be a leaf that needs a gradient.
    """

    call: str
    setup: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    when: Mapping[str, Attr] | Callable[[OpCall], bool] | None = None
    result: str | None = None
    dtypes: tuple[str, ...] | None = None
    source: str = ""
    api: str = ""
    no_gradient: str = ""
    restrides: bool = False

    def holds(self, call: OpCall) -> bool:
        """Whether this form may be used for the call."""
        first = call.first
        if self.dtypes is not None and first is not None and first.dtype not in self.dtypes:
            return False
        if self.when is None:
            return True
        if callable(self.when):
            return bool(self.when(call))
        return all(_same(call.attrs[name], value) for name, value in self.when.items())

    @property
    def placeholders(self) -> frozenset[str]:
        texts = (self.call, *self.setup, *self.before, self.result or "")
        return frozenset(name for text in texts for name in _fields(text))

    @property
    def setup_placeholders(self) -> frozenset[str]:
        return frozenset(name for text in self.setup for name in _fields(text))


@dataclass(frozen=True)
class Limit:
    """A known gap of a framework, with its reason; a person said so."""

    framework: str
    reason: str
    form: str = ""
    dtypes: tuple[str, ...] = ()
    version: str = ""
    link: str = ""


@dataclass(frozen=True)
class OpSpec:
    """A row of the operator table. Extended by `op(...)`; see the module docstring."""

    name: str
    operands: tuple[Operand, ...]
    attrs: Mapping[str, tuple[Attr, ...]]
    dtypes: tuple[str, ...]
    infer: Callable[[OpCall], Type]
    requires: Callable[[OpCall], Iterable[tuple[bool, str]]] | None
    reference: Callable[..., object]
    forms: Mapping[str, Mapping[str, Form]]
    tolerance: Tolerance
    domain: tuple[float, float]
    companions: (
        Callable[[Dense, Mapping[str, Attr]], Mapping[str, Input | tuple[Input, ...]]] | None
    )
    shapes: tuple[tuple[int, ...], ...]
    tags: frozenset[str]
    writes: str | None
    views: str | None
    differentiable: bool
    random: bool
    limits: tuple[Limit, ...]
    fixed: tuple[str, ...] = ()
    doc: str = field(default="", compare=False)

    @property
    def first(self) -> Operand:
        return self.operands[0]

    def limits_of(self, framework: str, form: str, dtypes: Collection[str]) -> tuple[Limit, ...]:
        """The limits that a form of the framework has for a call in which these dtypes meet."""
        return tuple(
            limit
            for limit in self.limits
            if limit.framework == framework
            and limit.form in ("", form)
            and (not limit.dtypes or not set(limit.dtypes).isdisjoint(dtypes))
        )

    def check(self, call: OpCall) -> Type:
        """Infer the result type, or raise `ConstraintViolated` with the requirement that fails."""
        self._check_dtypes(call)
        for holds, message in self.requires(call) if self.requires else ():
            if not holds:
                raise ConstraintViolated(f"{self.name}: {message}")
        return self.infer(call)

    def _check_dtypes(self, call: OpCall) -> None:
        leading: str | None = None
        for operand in self.operands:
            given = call.types.get(operand.name)
            if given is None:
                if not operand.optional:
                    raise ConstraintViolated(f"{self.name}: operand {operand.name} is missing")
                continue
            for one in given if isinstance(given, tuple) else (given,):
                if not isinstance(one, Dense):
                    continue
                allowed = self._allowed(operand, leading)
                if one.dtype not in allowed:
                    raise ConstraintViolated(
                        f"{self.name}: operand {operand.name} has dtype {one.dtype},"
                        f" expected {' or '.join(allowed)}"
                    )
                leading = leading or one.dtype

    def _allowed(self, operand: Operand, leading: str | None) -> tuple[str, ...]:
        match operand.kind:
            case "any":
                return self.dtypes
            case "same":
                return (leading,) if leading else self.dtypes
            case "free" | "mixed":
                return DTYPES
            case "float":
                return FLOATS
            case "integer":
                return INTEGERS
            case dtype:
                return (dtype,)

    def forms_for(self, framework: str, call: OpCall) -> tuple[str, ...]:
        """Names of the forms of a framework that hold for the call, plainest first."""
        table = self.forms.get(framework, {})
        return tuple(name for name, form in table.items() if form.holds(call))

    def form_for(self, framework: str, node: Node, call: OpCall) -> tuple[str, Form] | None:
        """The form a node is written in; the plainest that holds where its own does not.

        None when the framework has no form for this call: the case is then UNSUPPORTED there.
        """
        names = self.forms_for(framework, call)
        if not names:
            return None
        wanted = node.form(framework)
        name = wanted if wanted in names else names[0]
        return name, self.forms[framework][name]


def call_of(spec: OpSpec, operands: Sequence[Type | None], attrs: Mapping[str, Attr]) -> OpCall:
    """Bind positional operand types to the operand names of a row.

    At most one operand is variadic; it takes what the others leave.
    """
    types: dict[str, Type | tuple[Type, ...] | None] = {}
    rest = list(operands)
    spare = len(operands) - sum(1 for one in spec.operands if not one.variadic)
    for operand in spec.operands:
        if operand.variadic:
            taken, rest = rest[: max(spare, 0)], rest[max(spare, 0) :]
            types[operand.name] = tuple(one for one in taken if one is not None)
        else:
            types[operand.name] = rest.pop(0) if rest else None
    if rest:
        raise ConstraintViolated(
            f"{spec.name}: saw {len(operands)} operands, expected {len(spec.operands)}"
        )
    missing = set(spec.attrs) - set(attrs)
    unknown = set(attrs) - set(spec.attrs)
    if missing or unknown:
        raise ConstraintViolated(
            f"{spec.name}: attributes {sorted(attrs)}, expected {sorted(spec.attrs)}"
        )
    return OpCall(types, dict(attrs))


def op(
    name: str,
    operands: str,
    *,
    infer: Callable[[OpCall], Type],
    reference: Callable[..., object],
    torch: str | Form | Mapping[str, str | Form] | None,
    mindspore: str | Form | Mapping[str, str | Form] | None,
    attrs: Mapping[str, tuple[Attr, ...]] | None = None,
    dtypes: tuple[str, ...] = FLOATS,
    requires: Callable[[OpCall], Iterable[tuple[bool, str]]] | None = None,
    tolerance: Tolerance = Tolerance.ELEMENTWISE,
    domain: tuple[float, float] = (-2.0, 2.0),
    companions: Callable[[Dense, Mapping[str, Attr]], Mapping[str, Input | tuple[Input, ...]]]
    | None = None,
    shapes: tuple[tuple[int, ...], ...] = ((2, 3, 4),),
    tags: Iterable[str] = (),
    writes: str | None = None,
    views: str | None = None,
    differentiable: bool = True,
    random: bool = False,
    limits: tuple[Limit, ...] = (),
    fixed: tuple[str, ...] = (),
    doc: str = "",
) -> OpSpec:
    """Declare an operator and enter it in `OPS`.

    `operands`: space-separated slots ("x w b?", "xs*", "x index:integer").
    `attrs`: the values each attribute may take, ordinary first, nasty last; legality is not encoded
    here, it is `requires`. `reference(*operands, **attrs)`: NumPy, an absent operand is None, a
    variadic one a tuple. `companions(type of the first operand, attrs)`: inputs (type and
    initialiser) for the other operands, so that a mutator or a test can introduce the operator at a
    value of that type. `shapes`: shapes of the first operand for the table tests, ordinary first.
    `fixed`: operands to which no gradient flows; one that asks for a gradient makes a call raise.
    """
    assert name not in OPS, f"operator {name} is declared twice"
    slots = operands.split()
    spec = OpSpec(
        name=name,
        operands=tuple(Operand.parse(one, first=not at) for at, one in enumerate(slots)),
        attrs=dict(attrs or {}),
        dtypes=dtypes,
        infer=infer,
        requires=requires,
        reference=reference,
        forms={"torch": _forms(torch), "mindspore": _forms(mindspore)},
        tolerance=tolerance,
        domain=domain,
        companions=companions,
        shapes=shapes,
        tags=frozenset(tags),
        writes=writes,
        views=views,
        differentiable=differentiable,
        random=random,
        limits=limits,
        fixed=fixed,
        doc=doc,
    )
    _check_placeholders(spec)
    OPS[name] = spec
    return spec


def _forms(given: str | Form | Mapping[str, str | Form] | None) -> Mapping[str, Form]:
    if given is None:
        return {}
    if isinstance(given, str | Form):
        given = {"function": given}
    unknown = {re.sub(r"_\w+$", "", name) for name in given} - set(FORM_NAMES)
    assert not unknown, f"unknown form names {unknown}: use {FORM_NAMES}, with a suffix _word"
    return {name: one if isinstance(one, Form) else Form(one) for name, one in given.items()}


def _check_placeholders(spec: OpSpec) -> None:
    known = {one.name for one in spec.operands} | set(spec.attrs) | {"self", "out"}
    for framework, table in spec.forms.items():
        for form_name, form in table.items():
            wrong = form.placeholders - known
            assert not wrong, f"{spec.name}/{framework}/{form_name}: unknown placeholders {wrong}"


def _fields(text: str) -> Iterator[str]:
    for _, name, _, _ in string.Formatter().parse(text):
        if name:
            yield name


def _same(seen: Attr, wanted: Attr) -> bool:
    return type(seen) is type(wanted) and seen == wanted
