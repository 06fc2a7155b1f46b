"""Tensors: dtype, layout, values and extents of what flows along an edge, and of the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Input, Node, Random
from engine.ir.types import Dense, dense
from engine.mutators.edits import Draft
from engine.mutators.sites import inputs, is_floating, uses, values
from engine.mutators.spec import (
    ALGEBRA,
    BUG_KIND,
    FLOWMUT_CG,
    FLOWMUT_TFG,
    FREEFUZZ,
    Edit,
    Effect,
    Site,
    mutator,
)

FLOATING = values(is_floating)
WITH_WEIGHTS = values(is_floating, roles=("input", "weight", "constant"))
SPREAD = values(lambda type_: is_floating(type_) and type_.rank >= 2 and type_.elements > 1)


# ------------------------------------------------------------------------------ dtype
def cast_and_back(dtype: str) -> Edit:
    """The value through another dtype: what the dtype cannot hold is lost."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        own = draft.dense(site.value).dtype
        if own == dtype:
            raise ConstraintViolated(f"{site.value} is {dtype} already")
        there = draft.cast(site.value, dtype)
        draft.redirect(site.value, draft.cast(there, own))
        return draft.finish()

    return edit


def cast_away(dtype: str) -> Edit:
    """The value in another dtype from here on, wherever its users take it."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        if draft.dense(site.value).dtype == dtype:
            raise ConstraintViolated(f"{site.value} is {dtype} already")
        draft.redirect(site.value, draft.cast(site.value, dtype))
        return draft.finish()

    return edit


mutator(
    "tensor.update.dtype.roundtrip",
    effect=Effect.CHANGING,
    sites=WITH_WEIGHTS,
    edit={
        dtype: cast_and_back(dtype) for dtype in ("float16", "bfloat16", "int8", "int32", "bool")
    },
    provenance=FLOWMUT_CG("cast"),
    example=("y = relu(x)", "c = cast(x; dtype=float16)\nd = cast(c; dtype=float32)\ny = relu(d)"),
    doc="Cast to a narrower dtype and back: values change as the dtype says.",
)
mutator(
    "tensor.update.dtype.widened",
    effect=Effect.PRESERVING,
    sites=WITH_WEIGHTS,
    edit={"float64": cast_and_back("float64")},
    provenance=ALGEBRA("widening is exact"),
    example=("y = relu(x)", "c = cast(x; dtype=float64)\nd = cast(c; dtype=float32)\ny = relu(d)"),
    doc="Cast to a wider dtype and back: nothing may change.",
)
mutator(
    "tensor.update.dtype.onwards",
    effect=Effect.CHANGING,
    sites=FLOATING,
    edit={dtype: cast_away(dtype) for dtype in ("float16", "bfloat16", "float64", "int32", "bool")},
    provenance=FLOWMUT_CG("cast"),
    example=("y = relu(x)", "c = cast(x; dtype=float64)\ny = relu(c)"),
    doc="Cast, and leave the users to compute in the other dtype; legal where all of them can.",
)


# ------------------------------------------------------------------------------ layout
def _transposed(draft: Draft, value: str) -> str:
    rank = len(draft.shape(value))
    first, second = (int(axis) for axis in draft.rng.choice(rank, size=2, replace=False))
    there = draft.emit("transpose", value, dim0=first, dim1=second)
    solid = draft.emit("contiguous", there)
    return draft.emit("transpose", solid, dim0=first, dim1=second)


def _permuted(draft: Draft, value: str) -> str:
    order = tuple(int(axis) for axis in draft.rng.permutation(len(draft.shape(value))))
    back = tuple(int(axis) for axis in np.argsort(order))
    solid = draft.emit("contiguous", draft.emit("permute", value, dims=order))
    return draft.emit("permute", solid, dims=back)


def _channels_last(draft: Draft, value: str) -> str:
    if len(draft.shape(value)) != 4:
        raise ConstraintViolated(f"{value}: channels last needs four axes")
    solid = draft.emit("contiguous", draft.emit("permute", value, dims=(0, 2, 3, 1)))
    return draft.emit("permute", solid, dims=(0, 3, 1, 2))


def _strided(draft: Draft, value: str) -> str:
    """Every second element of a buffer twice as long, along one axis."""
    axis = int(draft.rng.integers(len(draft.shape(value))))
    shape = draft.shape(value)
    pair = draft.emit("stack", value, draft.emit("neg", value), dim=axis + 1)
    long = (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
    flat = draft.emit("reshape", pair, shape=long)
    return draft.emit("slice", flat, dim=axis, start=0, stop=None, step=2)


def _offset(draft: Draft, value: str) -> str:
    """A window that starts inside a larger buffer."""
    shape = draft.shape(value)
    axis = int(draft.rng.integers(len(shape)))
    both = draft.emit("cat", draft.emit("neg", value), value, dim=axis)
    return draft.emit("narrow", both, dim=axis, start=shape[axis], length=shape[axis])


def _expanded(draft: Draft, value: str) -> str:
    """One of several views of the same bytes (stride 0)."""
    shape = draft.shape(value)
    wide = draft.emit("expand", draft.emit("unsqueeze", value, dim=0), shape=(3, *shape))
    return draft.emit("select", wide, dim=0, index=int(draft.rng.integers(3)))


def _copied(op: str) -> Callable[[Draft, str], str]:
    return lambda draft, value: draft.emit(op, value)


def through(make: Callable[[Draft, str], str]) -> Edit:
    """Uses of the value read what `make` gives for it: all, or now and then one alone."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        readers = case.graph.users[site.value]
        made = make(draft, site.value)
        alone = (draft.pick(readers),) if len(readers) > 1 and draft.flip(0.3) else None
        draft.redirect(site.value, made, only=alone)
        return draft.finish()

    return edit


mutator(
    "tensor.update.layout",
    effect=Effect.PRESERVING,
    sites=SPREAD,
    edit={
        "transposed": through(_transposed),
        "permuted": through(_permuted),
        "channels_last": through(_channels_last),
        "strided": through(_strided),
        "offset": through(_offset),
        "expanded": through(_expanded),
    },
    provenance=FLOWMUT_TFG("layout"),
    example=(
        "y = relu(x)",
        "a = permute(x; dims=(1, 0))\nb = contiguous(a)\nc = permute(b; dims=(1, 0))\ny = relu(c)",
    ),
    doc="The same values in another memory layout: strides, an offset, a stride of nought.",
)
mutator(
    "tensor.insertion.copy",
    effect=Effect.PRESERVING,
    sites=WITH_WEIGHTS,
    edit={op: through(_copied(op)) for op in ("clone", "contiguous", "identity")},
    provenance=FLOWMUT_CG("clone"),
    example=("y = relu(x)", "c = clone(x)\ny = relu(c)"),
    doc="A copy, or a view that may be one, between a value and its users.",
)
mutator(
    "tensor.update.gradient.detached",
    effect=Effect.PRESERVING,
    sites=FLOATING,
    edit=through(_copied("detach")),
    provenance=FLOWMUT_TFG("detach"),
    example=("y = relu(x)", "d = detach(x)\ny = relu(d)"),
    doc="Values stay, the gradient does not flow through.",
)


# ------------------------------------------------------------------------------ values
_SPECIAL: dict[str, float] = {
    "nan": math.nan,
    "inf": math.inf,
    "minus_inf": -math.inf,
    "minus_zero": -0.0,
    "denormal": 1e-41,
    "tiny": 1.2e-38,
    "huge": 3.0e38,
    "minus_huge": -3.0e38,
    "half_overflow": 65520.0,
    "square_overflow": 3e19,
    "two_24": 16777217.0,
    "half_way": 2.5,
}
SCALES = {"1e20": 1e20, "1e-20": 1e-20, "1e4": 1e4, "minus": -1.0, "1e-4": 1e-4, "zero": 0.0}


def _marked(special: float, share: float) -> Callable[[Draft, str], str]:
    """A share of the elements replaced by a special value."""

    def make(draft: Draft, value: str) -> str:
        seed = int(draft.rng.integers(1 << 16))
        mask = draft.add_input(
            dense("bool", *draft.shape(value)), Random("bernoulli", seed, (("p", share),))
        )
        return draft.emit("masked_fill", value, mask, value=special)

    return make


def _tied(draft: Draft, value: str) -> str:
    """Exact ties: multiples of a half."""
    return draft.scaled(draft.emit("round", draft.scaled(value, 2.0), decimals=0), 0.5)


def _scaled(factor: float) -> Callable[[Draft, str], str]:
    return lambda draft, value: draft.scaled(value, factor)


def probed(make: Callable[[Draft, str], str]) -> Edit:
    """A second copy of a user, on changed values, shown as a further output.

    What flows through the model stays as it is, so that the mutant stays alive.
    """

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.consumer]
        if node.writes is not None or node.regions:
            raise ConstraintViolated(f"{node.name}: a node with effects is not doubled")
        draft = Draft(case, rng).before(node.name)
        changed = make(draft, site.value)
        operands = list(node.operands)
        operands[site.slot] = changed
        twin = Node(draft.fresh(), node.op, tuple(operands), node.type, node.attrs, node.forms)
        for part in draft.parts(draft.put(twin, plain=draft.flip()), most=3):
            draft.add_output(part)
        return draft.finish()

    return edit


USES = uses(is_floating)
mutator(
    "tensor.update.values",
    effect=Effect.CHANGING,
    sites=FLOATING,
    edit={
        **{name: through(_marked(special, 0.05)) for name, special in _SPECIAL.items()},
        "ties": through(_tied),
    },
    provenance=BUG_KIND("special values"),
    example=("y = relu(x)", "m = masked_fill(x, k; value=nan)\ny = relu(m)"),
    nasty=True,
    doc="A few elements become a special value, and what follows has to cope.",
)
mutator(
    "interface.insertion.probe.values",
    effect=Effect.CHANGING,
    sites=USES,
    edit={
        **{name: probed(_marked(special, 0.2)) for name, special in _SPECIAL.items()},
        "ties": probed(_tied),
    },
    provenance=BUG_KIND("special values"),
    example=("y = relu(x)", "m = masked_fill(x, k; value=nan)\np = relu(m)\ny = relu(x)"),
    nasty=True,
    doc="A second copy of a node sees special values; its result is a further output.",
)
mutator(
    "tensor.update.scale",
    effect=Effect.CHANGING,
    sites=FLOATING,
    edit={name: through(_scaled(factor)) for name, factor in SCALES.items()},
    provenance=FLOWMUT_TFG("perturb"),
    example=("y = relu(x)", "s = mul_scalar(x; value=1e20)\ny = relu(s)"),
    nasty=True,
    doc="The value times a constant, small, large or nought.",
)
mutator(
    "interface.insertion.probe.scale",
    effect=Effect.CHANGING,
    sites=USES,
    edit={name: probed(_scaled(factor)) for name, factor in SCALES.items()},
    provenance=BUG_KIND("extreme values"),
    example=("y = relu(x)", "s = mul_scalar(x; value=1e20)\np = relu(s)\ny = relu(x)"),
    nasty=True,
    doc="A second copy of a node sees values of another magnitude.",
)


# ------------------------------------------------------------------------------ extents
def _cut_to(extent: int) -> Callable[[Draft, str], str]:
    def make(draft: Draft, value: str) -> str:
        shape = draft.shape(value)
        longer = [axis for axis, have in enumerate(shape) if have > extent]
        if not longer:
            raise ConstraintViolated(f"{value}: no axis is longer than {extent}")
        axis = longer[int(draft.rng.integers(len(longer)))]
        return draft.emit("slice", value, dim=axis, start=0, stop=extent, step=1)

    return make


def _emptied(draft: Draft, value: str) -> str:
    """A tensor like the value, but with no elements along one axis."""
    shape = list(draft.shape(value))
    shape[int(draft.rng.integers(len(shape)))] = 0
    return draft.full(dense(draft.dense(value).dtype, *shape), 0.0)


def _sliced_back(draft: Draft, value: str) -> str:
    """Padded by its own values and cut back: values and shape stay."""
    shape = draft.shape(value)
    axis = int(draft.rng.integers(len(shape)))
    longer = draft.emit("cat", value, value, dim=axis)
    return draft.emit("slice", longer, dim=axis, start=0, stop=shape[axis], step=1)


mutator(
    "interface.insertion.probe.extent",
    effect=Effect.CHANGING,
    sites=uses(lambda type_: type_.rank >= 1),
    edit={"zero": probed(_emptied), "one": probed(_cut_to(1)), "two": probed(_cut_to(2))},
    provenance=BUG_KIND("extents 0 and 1"),
    example=("y = relu(x)", "s = slice(x; dim=0, start=0, stop=0)\np = relu(s)\ny = relu(x)"),
    doc="A second copy of a node sees an operand with an axis of extent 0, 1 or 2.",
)
mutator(
    "tensor.update.extent.padded_and_cut",
    effect=Effect.PRESERVING,
    sites=SPREAD,
    edit=through(_sliced_back),
    provenance=ALGEBRA("slice of a concatenation"),
    example=(
        "y = relu(x)",
        "c = cat(x, x; dim=0)\ns = slice(c; dim=0, start=0, stop=2)\ny = relu(s)",
    ),
    doc="Doubled along an axis and cut back to a view of the first half.",
)


def probe_dtype(dtype: str) -> Edit:
    return probed(lambda draft, value: draft.cast(value, dtype))


mutator(
    "interface.insertion.probe.dtype",
    effect=Effect.CHANGING,
    sites=USES,
    edit={dtype: probe_dtype(dtype) for dtype in ("float16", "float64", "int32", "int8", "bool")},
    provenance=FLOWMUT_TFG("dtype"),
    example=("y = relu(x)", "c = cast(x; dtype=float64)\np = relu(c)\ny = relu(x)"),
    doc="A second copy of a node sees one operand in another dtype, where it may.",
)


# ------------------------------------------------------------------------------ inputs
def with_layout(layout: str) -> Edit:
    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        given = case.graph.input_by_name[site.value]
        if given.layout == layout or given.alias:
            raise ConstraintViolated(f"{given.name} is {layout} already, or aliased")
        type_ = given.type
        if layout == "channels_last" and not (isinstance(type_, Dense) and type_.rank == 4):
            raise ConstraintViolated(f"{given.name}: channels last needs four axes")
        return _with_input(case, replace(given, layout=layout))

    return edit


def _with_input(case: Case, given: Input) -> Case:
    changed = tuple(given if one.name == given.name else one for one in case.graph.inputs)
    return case.with_graph(replace(case.graph, inputs=changed))


def _laid_out(given: Input) -> bool:
    return isinstance(given.type, Dense) and given.type.is_static and given.type.rank >= 2


mutator(
    "tensor.update.input.layout",
    effect=Effect.PRESERVING,
    sites=inputs(_laid_out),
    edit={name: with_layout(name) for name in ("channels_last", "transposed", "strided", "offset")},
    provenance=FLOWMUT_TFG("layout"),
    example=("input x: float32[2,3]", "input x: float32[2,3] layout=transposed"),
    doc="An input or weight in other memory than contiguous; its values stay.",
)
mutator(
    "tensor.update.input.expanded",
    effect=Effect.CHANGING,
    sites=inputs(
        lambda given: _laid_out(given) and given.role == "input" and not given.requires_grad
    ),
    edit=with_layout("expanded"),
    provenance=FLOWMUT_TFG("layout"),
    example=("input x: float32[2,3]", "input x: float32[2,3] layout=expanded"),
    doc="An input whose first axis has stride 0: all its rows are the same bytes.",
)


def with_role(role: str) -> Edit:
    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        given = case.graph.input_by_name[site.value]
        if given.role == role or given.alias:
            raise ConstraintViolated(f"{given.name} is of role {role} already, or aliased")
        needs = given.requires_grad and role != "constant"
        return _with_input(case, replace(given, role=role, requires_grad=needs))

    return edit


mutator(
    "tensor.update.input.role",
    effect=Effect.PRESERVING,
    sites=inputs(
        lambda given: (
            isinstance(given.type, Dense)
            and is_floating(given.type)
            and given.role in ("weight", "constant")
        )
    ),
    edit={role: with_role(role) for role in ("weight", "constant")},
    provenance=FLOWMUT_TFG("leaf"),
    example=("weight w: float32[2,3]", "constant w: float32[2,3]"),
    doc="A weight becomes a constant, or a constant a weight: what a module may hold changes.",
)


def share_storage(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """Two inputs of one type in one storage."""
    given = case.graph.input_by_name[site.value]
    others = [
        one
        for one in case.graph.inputs
        if one.type == given.type and one.name != given.name and one.role == given.role
    ]
    if not others or given.alias:
        raise ConstraintViolated(f"{given.name}: no other input of its type, or aliased already")
    other = others[int(rng.integers(len(others)))]
    group = other.alias or f"shared_{other.name}"
    case = _with_input(case, replace(other, alias=group, layout="contiguous"))
    return _with_input(case, replace(given, alias=group, layout="contiguous", init=other.init))


mutator(
    "tensor.rewiring.input.alias",
    effect=Effect.CHANGING,
    sites=inputs(lambda given: isinstance(given.type, Dense)),
    edit=share_storage,
    provenance=BUG_KIND("aliasing"),
    example=(
        "input x: float32[2]\ninput y: float32[2]",
        "input x: float32[2] alias=g\ninput y: float32[2] alias=g",
    ),
    doc="Two inputs of one type become the same tensor.",
)


def other_values(kind: str, *parameters: tuple[str, float]) -> Edit:
    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        given = case.graph.input_by_name[site.value]
        init = Random(kind, int(rng.integers(1 << 16)), parameters)
        return _with_input(case, replace(given, init=init))

    return edit


mutator(
    "tensor.update.input.values",
    effect=Effect.CHANGING,
    sites=inputs(
        lambda given: isinstance(given.type, Dense) and is_floating(given.type) and not given.alias
    ),
    edit={
        "normal": other_values("normal", ("mean", 0.0), ("std", 1.0)),
        "uniform": other_values("uniform", ("low", -1.0), ("high", 1.0)),
        "large": other_values("normal", ("mean", 0.0), ("std", 100.0)),
        "small": other_values("normal", ("mean", 0.0), ("std", 1e-4)),
        "positive": other_values("uniform", ("low", 0.0), ("high", 2.0)),
    },
    provenance=FREEFUZZ("tensor value"),
    example=(
        "input x: float32[2] = normal(seed=0)",
        "input x: float32[2] = uniform(seed=7, low=-1.0, high=1.0)",
    ),
    doc="Other values of an input or weight.",
)


def toggle_gradient(case: Case, site: Site, rng: np.random.Generator) -> Case:
    given = case.graph.input_by_name[site.value]
    return _with_input(case, replace(given, requires_grad=not given.requires_grad))


mutator(
    "tensor.update.gradient.required",
    effect=Effect.PRESERVING,
    sites=inputs(lambda given: isinstance(given.type, Dense) and is_floating(given.type)),
    edit=toggle_gradient,
    provenance=FLOWMUT_TFG("requires_grad"),
    example=("input x: float32[2]", "input x: float32[2] requires_grad"),
    doc="An input or weight needs a gradient where it did not, or the other way round.",
)
