"""Views of a copy that share memory with one another, one of them written: who sees it?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.types import contiguous_strides
from engine.mutators.edits import Draft
from engine.mutators.effects import COMPUTED, WRITERS
from engine.mutators.spec import BUG_KIND, FLOWMUT_TFG, Edit, Effect, Site, mutator

__all__: list[str] = []


# ------------------------------------------------------------------------------ overlapping
def overlapping(op: str) -> Edit:
    """Two views of a copy that overlap; one is written, the other is an output, users read the
    copy."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        shape = draft.shape(site.value)
        long = [axis for axis, extent in enumerate(shape) if extent > 2]
        if not long:
            raise ConstraintViolated(f"{site.value}: no axis is long enough for two views")
        axis = long[int(rng.integers(len(long)))]
        base = draft.emit("clone", draft.admit(op, site.value))
        length = shape[axis] - 1
        first = draft.emit("narrow", base, dim=axis, start=0, length=length)
        second = draft.emit("narrow", base, dim=axis, start=1, length=length)
        draft.introduce(op, first)
        draft.add_output(draft.emit("mul_scalar", second, value=2.0))
        draft.redirect(site.value, base)
        return draft.finish()

    return edit


# ------------------------------------------------------------------------------ seen through
def _expanded(draft: Draft, base: str) -> str:
    shape = draft.shape(base)
    return draft.emit("expand", draft.emit("unsqueeze", base, dim=0), shape=(3, *shape))


def _strided(draft: Draft, base: str) -> str:
    shape = draft.shape(base)
    strides = contiguous_strides(shape)
    return draft.emit("as_strided", base, size=shape, stride=strides, offset=0)


def _flattened(draft: Draft, base: str) -> str:
    """Only where one axis is longer than 1: a copy keeps the layout of its operand, and of another
    layout there may be no flat view."""
    if sum(extent > 1 for extent in draft.shape(base)) > 1:
        raise ConstraintViolated(f"{base}: there may be no flat view of several axes")
    return draft.emit("view", base, shape=(draft.dense(base).elements,))


def _turned(draft: Draft, base: str) -> str:
    rank = len(draft.shape(base))
    if rank < 2:
        raise ConstraintViolated(f"{base}: one axis cannot be transposed")
    return draft.emit("transpose", base, dim0=0, dim1=rank - 1)


def _detached(draft: Draft, base: str) -> str:
    return draft.emit("detach", base)


SEEN: dict[str, Callable[[Draft, str], str]] = {
    "expanded": _expanded,
    "as_strided": _strided,
    "flat": _flattened,
    "transposed": _turned,
    "detached": _detached,
}


def seen_through(view: Callable[[Draft, str], str], op: str) -> Edit:
    """A view of a copy is taken, then the copy is written, then the view is read."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        base = draft.emit("clone", draft.admit(op, site.value))
        seen = view(draft, base)
        written = draft.introduce(op, base)
        draft.add_output(draft.emit("mul_scalar", seen, value=2.0))
        draft.redirect(site.value, draft.repaired(written, draft.dense(site.value)))
        return draft.finish()

    return edit


mutator(
    "tensor.update.inplace.overlapping",
    effect=Effect.CHANGING,
    sites=COMPUTED,
    edit={op: overlapping(op) for op in WRITERS},
    provenance=BUG_KIND("overlapping views"),
    example=(
        "y = exp(x)",
        (
            "c = clone(x)\na = narrow(c; start=0)\nb = narrow(c; start=1)\n"
            "w = add_(a, k) writes a\nd = mul_scalar(b; value=2.0)\ny = exp(c)\nreturn y, d"
        ),
    ),
    aliasing=True,
    doc="A write into one of two views that share most of their elements; both are looked at.",
)
for _name, _view in SEEN.items():
    mutator(
        f"tensor.update.inplace.seen.{_name}",
        effect=Effect.CHANGING,
        sites=COMPUTED,
        edit={op: seen_through(_view, op) for op in WRITERS},
        provenance=FLOWMUT_TFG("alias"),
        example=(
            "y = exp(x)",
            (
                "c = clone(x)\nv = view(c)\nw = add_(c, k) writes c\nd = mul_scalar(v; value=2.0)\n"
                "y = exp(w)\nreturn y, d"
            ),
        ),
        aliasing=True,
        doc=f"A copy is written after a view of it ({_name}) was taken, which is read afterwards.",
    )
