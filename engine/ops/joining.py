"""Tensors joined, repeated, reversed and rotated: values move, none is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.ir.graph import Attr, Input
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MINDSPORE_NUMBERS,
    MOVING,
    Requirement,
    axis,
    default,
    limited,
    mindspore_primitive,
    resized,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
MS = MINDSPORE_MOVING


def whole(call: OpCall) -> tuple[Dense, ...]:
    """The first operand and the others."""
    return (call["x"], *call.many("ys"))


def others(count: int = 2) -> Callable[[Dense, Mapping[str, Attr]], dict[str, tuple[Input, ...]]]:
    return lambda x, attrs: {
        "ys": tuple(beside(f"y{at}", x, 51 + at) for at in range(count)),
    }


# ---------------------------------------------------------------------------------- cat, stack
def cat_fits(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to join along"
    at = axis(call.integer("dim"), call["x"].rank)
    shapes = {(*shape[:at], *shape[at + 1 :]) for shape in map(static, whole(call))}
    ranks = {one.rank for one in whole(call)}
    yield len(ranks) == 1 and len(shapes) == 1, f"the tensors differ beside axis {at}"


def cat_type(call: OpCall) -> Dense:
    shapes = [static(one) for one in whole(call)]
    at = axis(call.integer("dim"), len(shapes[0]))
    total = sum(shape[at] for shape in shapes)
    return resized(call["x"], (*shapes[0][:at], total, *shapes[0][at + 1 :]))


op(
    "cat",
    "x ys*",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=cat_type,
    requires=cat_fits,
    reference=lambda x, ys, dim: np.concatenate((x, *ys), axis=dim),
    torch={
        "function": "torch.cat(({x}, {ys}), {dim})",
        "keyword": Form("torch.cat(tensors=[{x}, {ys}], dim={dim})", source="torch.cat"),
        "function_concat": Form(
            "torch.concat(({x}, {ys}), dim={dim})", source="torch.concat: alias of torch.cat()"
        ),
        "function_concatenate": Form(
            "torch.concatenate(({x}, {ys}), dim={dim})",
            source="torch.concatenate: alias of torch.cat()",
        ),
        "default": Form(
            "torch.cat([{x}, {ys}])", when={"dim": 0}, source=default("torch.cat", "dim=0")
        ),
        "composed": Form(
            "torch.hstack(({x}, {ys}))",
            when=lambda call: (
                call["x"].rank >= 2 and axis(call.integer("dim"), call["x"].rank) == 1
            ),
            source="torch.hstack: concatenation along the second axis",
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.cat(({x}, {ys}), {dim})",
            "function_concat": Form(
                "ops.concat(({x}, {ys}), {dim})",
                source="mindspore.ops.concat: alias for mindspore.ops.cat()",
            ),
            "mint": Form(
                "mint.cat(({x}, {ys}), {dim})",
                source="mindspore.mint.cat: connects input tensors along the given dimension",
            ),
            "primitive": Form(
                "ops.Concat({dim})(({x}, {ys}))", source=mindspore_primitive("Concat", "cat")
            ),
            "keyword": Form("ops.cat(tensors=[{x}, {ys}], axis={dim})", source="ops.cat"),
            "default": Form(
                "ops.cat([{x}, {ys}])",
                when={"dim": 0},
                source=default("mindspore.ops.cat", "axis=0"),
            ),
        },
    ),
    tolerance=EXACT,
    companions=others(),
    shapes=((2, 3, 4), (3, 4), (4,), (2, 0)),
    tags={"joining"},
)


def alike(call: OpCall) -> Requirement:
    shapes = {static(one) for one in whole(call)}
    yield len(shapes) == 1, "the tensors differ in shape"


def stack_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    at = axis(call.integer("dim"), len(shape) + 1)
    return resized(call["x"], (*shape[:at], len(whole(call)), *shape[at:]))


op(
    "stack",
    "x ys*",
    attrs={"dim": (1, 0, -1)},
    dtypes=MOVING,
    infer=stack_type,
    requires=alike,
    reference=lambda x, ys, dim: np.stack((x, *ys), axis=dim),
    torch={
        "function": "torch.stack(({x}, {ys}), {dim})",
        "keyword": Form("torch.stack(tensors=[{x}, {ys}], dim={dim})", source="torch.stack"),
        "default": Form(
            "torch.stack([{x}, {ys}])", when={"dim": 0}, source=default("torch.stack", "dim=0")
        ),
        "composed": Form(
            "torch.cat([one.unsqueeze({dim}) for one in ({x}, {ys})], {dim})",
            source="torch.stack: concatenates along a new dimension",
        ),
    },
    mindspore=limited(
        MS,
        {
            "function": "ops.stack(({x}, {ys}), {dim})",
            "primitive": Form(
                "ops.Stack({dim})(({x}, {ys}))", source="mindspore.ops.Stack: refer to ops.stack"
            ),
            "keyword": Form("ops.stack(tensors=[{x}, {ys}], axis={dim})", source="ops.stack"),
            "default": Form(
                "ops.stack([{x}, {ys}])",
                when={"dim": 0},
                source=default("mindspore.ops.stack", "axis=0"),
            ),
        },
    ),
    tolerance=EXACT,
    companions=others(1),
    shapes=((2, 3, 4), (3,), (2, 1)),
    tags={"joining"},
)


def joined_type(name: str) -> Callable[[OpCall], Dense]:
    """Type of hstack, vstack, dstack, column_stack: as NumPy lifts and joins."""
    joins: Mapping[str, Callable[[list[Array]], Array]] = STACKS

    def infer(call: OpCall) -> Dense:
        parts = [np.empty(static(one), bool) for one in whole(call)]
        return resized(call["x"], joins[name](parts).shape)

    return infer


STACKS: Mapping[str, Callable[[list[Array]], Array]] = {
    "hstack": np.hstack,
    "vstack": np.vstack,
    "dstack": np.dstack,
    "column_stack": np.column_stack,
}


def stack_row(name: str, shapes: tuple[tuple[int, ...], ...], mindspore: tuple[str, ...]) -> None:
    forms: dict[str, str | Form] = {"function": f"ops.{name}(({{x}}, {{ys}}))"}
    if "mint" in mindspore:
        forms["mint"] = Form(
            f"mint.{name}(({{x}}, {{ys}}))", source=f"mindspore.mint.{name}: see ops.{name}"
        )
    join = STACKS[name]
    op(
        name,
        "x ys*",
        dtypes=MOVING,
        infer=joined_type(name),
        requires=lambda call: (
            *alike(call),
            (call["x"].rank > 0, "a scalar is lifted differently by the frameworks"),
        ),
        reference=lambda x, ys: join([x, *ys]),
        torch={
            "function": f"torch.{name}(({{x}}, {{ys}}))",
            "keyword": Form(f"torch.{name}(tensors=[{{x}}, {{ys}}])", source=f"torch.{name}"),
        },
        mindspore=limited(MINDSPORE_NUMBERS, forms),
        tolerance=EXACT,
        companions=others(1),
        shapes=shapes,
        tags={"joining"},
    )


stack_row("hstack", ((2, 3), (4,), (2, 3, 2)), ("mint",))
stack_row("vstack", ((2, 3), (4,), (2, 3, 2)), ())
stack_row("dstack", ((2, 3), (4,), (2, 3, 2)), ("mint",))
stack_row("column_stack", ((2, 3), (4,)), ())


def block_diag(parts: tuple[Array, ...]) -> Array:
    lifted = [np.atleast_2d(one) for one in parts]
    total = tuple(sum(one.shape[at] for one in lifted) for at in (0, 1))
    result = np.zeros(total, lifted[0].dtype)
    row = column = 0
    for one in lifted:
        result[row : row + one.shape[0], column : column + one.shape[1]] = one
        row, column = row + one.shape[0], column + one.shape[1]
    return result


def block_diag_type(call: OpCall) -> Dense:
    shapes = [(1,) * (2 - one.rank) + shape_of(one, 0, 1, 2) for one in whole(call)]
    return resized(call["x"], (sum(shape[at] for shape in shapes) for at in (0, 1)))


op(
    "block_diag",
    "x ys*",
    dtypes=MOVING,
    infer=block_diag_type,
    reference=lambda x, ys: block_diag((x, *ys)),
    torch={"function": "torch.block_diag({x}, {ys})"},
    mindspore=limited(MINDSPORE_NUMBERS, {"function": "ops.block_diag({x}, {ys})"}),
    tolerance=EXACT,
    companions=others(1),
    shapes=((2, 3), (4,), (1, 1)),
    tags={"joining"},
)
