"""Operators that put several tensors together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MOVING,
    Requirement,
    axis,
    default,
    mindspore_primitive,
    resized,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
MS = MINDSPORE_MOVING


def _others(first: Dense, attrs: Mapping[str, Attr]) -> Mapping[str, Input | tuple[Input, ...]]:
    """Two more tensors of the same type."""
    return {"xs": tuple(beside("xs", first, seed=seed) for seed in (11, 12))}


def _beside_axis(call: OpCall) -> Requirement:
    """All tensors have one dtype, one rank, and the same extents but along the axis."""
    first, *others = call.many("xs")
    yield first.rank > 0, "a scalar has no axis to join along"
    if not first.rank:
        return
    at = axis(call.integer("dim"), first.rank)
    for one in others:
        same = one.rank == first.rank and all(
            have == want
            for place, (have, want) in enumerate(zip(one.shape, first.shape, strict=True))
            if place != at
        )
        yield same, f"the shapes {first.shape} and {one.shape} differ beside axis {at}"


def _joined(call: OpCall) -> Dense:
    first = call.many("xs")[0]
    shape = list(static(first))
    at = axis(call.integer("dim"), first.rank)
    shape[at] = sum(static(one)[at] for one in call.many("xs"))
    return resized(first, shape)


def _concat(xs: tuple[Array, ...], dim: int) -> Array:
    return np.concatenate(xs, axis=dim)


op(
    "concat",
    "xs*",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=_joined,
    requires=_beside_axis,
    reference=_concat,
    companions=_others,
    torch={
        "function": Form("torch.cat(({xs},), {dim})", api="torch.cat"),
        "keyword": Form("torch.cat(tensors=[{xs}], dim={dim})", source="torch.cat"),
        "function_concat": Form(
            "torch.concat(({xs},), {dim})", source="torch.concat: alias of torch.cat()"
        ),
        "function_concatenate": Form(
            "torch.concatenate(({xs},), {dim})", source="torch.concatenate: alias of torch.cat()"
        ),
        "default": Form("torch.cat([{xs}])", when={"dim": 0}, source=default("torch.cat", "dim=0")),
    },
    mindspore={
        name: replace(form, dtypes=MS)
        for name, form in {
            "function": Form("ops.cat(({xs},), {dim})", api="ops.cat"),
            "keyword": Form("ops.cat(tensors=({xs},), axis={dim})", source="mindspore.ops.cat"),
            "function_concat": Form(
                "ops.concat(({xs},), {dim})",
                source="mindspore.ops.concat: alias for mindspore.ops.cat()",
            ),
            "mint": Form(
                "mint.cat(({xs},), {dim})",
                source="mindspore.mint.cat: connect input tensors along with the given dimension",
            ),
            "mint_concat": Form(
                "mint.concat(({xs},), {dim})",
                source="mindspore.mint.concat: alias for mindspore.mint.cat",
            ),
            "primitive": Form(
                "{self}(({xs},))",
                setup=("{self} = ops.Concat({dim})",),
                source=mindspore_primitive("Concat", "cat"),
            ),
            "default": Form(
                "ops.cat(({xs},))", when={"dim": 0}, source=default("mindspore.ops.cat", "axis=0")
            ),
        }.items()
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (2, 3), (2, 1, 3, 2)),
    tags={"joining", "copy"},
)


def _alike(call: OpCall) -> Requirement:
    first, *others = call.many("xs")
    for one in others:
        yield one.shape == first.shape, f"the shapes {first.shape} and {one.shape} differ"


def _stacked(call: OpCall) -> Dense:
    first, dim = call.many("xs")[0], call.integer("dim")
    span = first.rank + 1
    if not -span <= dim < span:
        raise ConstraintViolated(f"stack: axis {dim} does not exist in a tensor of rank {span}")
    shape = list(static(first))
    shape.insert(dim % span, len(call.many("xs")))
    return resized(first, shape)


op(
    "stack",
    "xs*",
    attrs={"dim": (0, 1, -1)},
    dtypes=MOVING,
    infer=_stacked,
    requires=_alike,
    reference=lambda xs, dim: np.stack(xs, axis=dim),
    companions=_others,
    torch={
        "function": Form("torch.stack(({xs},), {dim})", api="torch.stack"),
        "keyword": Form("torch.stack(tensors=[{xs}], dim={dim})", source="torch.stack"),
        "default": Form(
            "torch.stack([{xs}])", when={"dim": 0}, source=default("torch.stack", "dim=0")
        ),
    },
    mindspore={
        name: replace(form, dtypes=MS)
        for name, form in {
            "function": Form("ops.stack(({xs},), {dim})", api="ops.stack"),
            "keyword": Form("ops.stack(tensors=({xs},), axis={dim})", source="mindspore.ops.stack"),
            "primitive": Form(
                "{self}(({xs},))",
                setup=("{self} = ops.Stack({dim})",),
                source=mindspore_primitive("Stack", "stack"),
            ),
            "default": Form(
                "ops.stack(({xs},))",
                when={"dim": 0},
                source=default("mindspore.ops.stack", "axis=0"),
            ),
        }.items()
    },
    tolerance=EXACT,
    shapes=((2, 3, 4), (3,), (), (2, 1)),
    tags={"joining", "copy"},
)
