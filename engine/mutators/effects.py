"""Effects: copies and views that are written in place, and who sees it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.mutators.edits import Draft
from engine.mutators.sites import is_floating, nodes, values
from engine.mutators.spec import BUG_KIND, FLOWMUT_TFG, Edit, Effect, Site, mutator
from engine.ops.spec import OPS

COMPUTED = values(lambda type_: is_floating(type_) and type_.rank >= 1 and type_.elements > 1)

WRITERS = tuple(
    spec.name
    for spec in OPS.values()
    if spec.writes is not None and spec.tags.isdisjoint({"control", "random", "sparse"})
)
"""Operators that write their first operand."""


def _write(draft: Draft, op: str, target: str) -> str:
    """The write, with companions; the result is the next version of the target."""
    return draft.introduce(op, target)


def on_a_copy(copy: Callable[[Draft, str], str], op: str) -> Edit:
    """A copy is written; the users go on with the written copy, the original stays an operand."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        target = copy(draft, draft.admit(op, site.value))
        written = _write(draft, op, target)
        draft.redirect(site.value, draft.repaired(written, draft.dense(site.value)))
        return draft.finish()

    return edit


def beside_a_copy(copy: Callable[[Draft, str], str], op: str) -> Edit:
    """A copy is written and shown as an output; users keep the original, which must not move."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        written = _write(draft, op, copy(draft, draft.admit(op, site.value)))
        draft.add_output(written)
        return draft.finish()

    return edit


def through_a_view(view: Callable[[Draft, str], str], op: str) -> Edit:
    """A copy, a view of it, a write into the view; then the users read the copy."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        base = draft.emit("clone", draft.admit(op, site.value))
        _write(draft, op, view(draft, base))
        draft.redirect(site.value, base)
        return draft.finish()

    return edit


def _clone(draft: Draft, value: str) -> str:
    return draft.emit("clone", value)


def _add_nought(draft: Draft, value: str) -> str:
    return draft.emit("add_scalar", value, value=0)


def _times_one(draft: Draft, value: str) -> str:
    return draft.emit("mul_scalar", value, value=1)


def _doubled(draft: Draft, value: str) -> str:
    return draft.emit("cat", value, value, dim=0)


COPIES: dict[str, Callable[[Draft, str], str]] = {
    "clone": _clone,
    "add_nought": _add_nought,
    "times_one": _times_one,
    "concatenated": _doubled,
}


def _half(draft: Draft, value: str) -> str:
    axis = int(draft.rng.integers(len(draft.shape(value))))
    extent = draft.shape(value)[axis]
    return draft.emit("slice", value, dim=axis, start=0, stop=max(extent // 2, 1), step=1)


def _every_second(draft: Draft, value: str) -> str:
    axis = int(draft.rng.integers(len(draft.shape(value))))
    return draft.emit("slice", value, dim=axis, start=0, stop=None, step=2)


def _row(draft: Draft, value: str) -> str:
    return draft.emit("select", value, dim=0, index=0)


def _turned(draft: Draft, value: str) -> str:
    rank = len(draft.shape(value))
    if rank < 2:
        raise ConstraintViolated(f"{value}: one axis cannot be transposed")
    return draft.emit("transpose", value, dim0=0, dim1=rank - 1)


def _flat(draft: Draft, value: str) -> str:
    return draft.emit("reshape", value, shape=(draft.dense(value).elements,))


VIEWS: dict[str, Callable[[Draft, str], str]] = {
    "half": _half,
    "every_second": _every_second,
    "row": _row,
    "transposed": _turned,
    "flat": _flat,
}


def in_place(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The node writes its result into its first operand."""
    node = case.graph.by_name[site.nodes[0]]
    op = f"{node.op}_"
    first = node.operands[0]
    if first is None or case.graph.types[first] != node.type or first not in case.graph.by_name:
        raise ConstraintViolated(f"{node.name}: its first operand is not to be written")
    if first in case.graph.outputs or set(dict(node.attrs)) != set(OPS[op].attrs):
        raise ConstraintViolated(f"{node.name}: {first} is an output, or {op} is called otherwise")
    draft = Draft(case, rng).before(node.name)
    written = draft.call(op, node.operands, dict(node.attrs))
    draft.replace_by(node.name, written)
    return draft.finish()


_TWINS = frozenset(op for op in OPS if f"{op}_" in WRITERS)
if _TWINS:
    mutator(
        "operator.update.inplace",
        effect=Effect.PRESERVING,
        sites=nodes(ops=_TWINS),
        edit=in_place,
        provenance=BUG_KIND("in place"),
        example=("y = relu(x)", "y = relu_(x) writes x"),
        doc="A node writes into its first operand, where nobody reads that afterwards.",
    )

if WRITERS:
    for _name, _copy in COPIES.items():
        mutator(
            f"tensor.update.inplace.{_name}",
            effect=Effect.CHANGING,
            sites=COMPUTED,
            edit={op: on_a_copy(_copy, op) for op in WRITERS},
            provenance=BUG_KIND("in place"),
            example=("y = exp(x)", "c = clone(x)\nw = add_(c, k) writes c\ny = exp(w)"),
            doc=f"An in-place write into a copy ({_name}); the users go on with what was written.",
        )
    mutator(
        "tensor.insertion.inplace.beside",
        effect=Effect.CHANGING,
        sites=COMPUTED,
        edit={
            f"{op}.{name}": beside_a_copy(copy, op)
            for op in WRITERS
            for name, copy in COPIES.items()
            if name in ("clone", "add_nought")
        },
        provenance=BUG_KIND("aliasing"),
        example=("y = exp(x)", "c = clone(x)\nw = mul_(c, k) writes c\ny = exp(x)\nreturn y, w"),
        doc="A copy is written; the original must not move, and both are looked at.",
    )
    for _name, _view in VIEWS.items():
        mutator(
            f"tensor.update.inplace.view.{_name}",
            effect=Effect.CHANGING,
            sites=COMPUTED,
            edit={op: through_a_view(_view, op) for op in WRITERS},
            provenance=FLOWMUT_TFG("alias"),
            example=(
                "y = exp(x)",
                "c = clone(x)\nv = select(c; index=0)\nw = add_(v, k) writes v\ny = exp(c)",
            ),
            aliasing=True,
            doc=f"A write through a view ({_name}) of a copy, then a read of the copy.",
        )
