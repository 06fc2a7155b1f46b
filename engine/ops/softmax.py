"""Activations along an axis: softmax and its kin, and the gated linear unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from engine.ir.types import FLOATS, Dense, Type
from engine.ops.activations import (
    cell,
)
from engine.ops.families import (
    Array,
    Forms,
    has_axes,
    lifted,
    mindspore_calls,
    no_bfloat16,
    normalised_axis,
    only,
    same_type,
    torch_calls,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_SHORT = ("float16", "float32")


# -------------------------------------------------------------------------------------- along axes
def axis_exists(call: OpCall) -> Iterator[tuple[bool, str]]:
    rank, dim = max(call["x"].rank, 1), call.integer("dim")
    yield -rank <= dim < rank, f"axis {dim} does not exist in {call['x'].rank} dimensions"


def softmax(x: Array, *, dim: int) -> object:
    shifted = np.exp(x - _most(x, dim))
    return shifted / np.sum(shifted, axis=dim if x.ndim else None, keepdims=True)


def log_softmax(x: Array, *, dim: int) -> object:
    shifted = x - _most(x, dim)
    total = np.sum(np.exp(shifted), axis=dim if x.ndim else None, keepdims=True)
    return shifted - np.log(total)


def _most(x: Array, dim: int) -> Array:
    axis = dim if x.ndim else None
    return np.max(x, axis=axis, keepdims=True, initial=-np.inf)  # type: ignore[no-any-return]


def softmin(x: Array, *, dim: int) -> object:
    return softmax(-x, dim=dim)


def _along(
    name: str,
    reference: Callable[..., object],
    *,
    torch: Forms,
    mindspore: Forms,
) -> None:
    op(
        name,
        "x",
        attrs={"dim": (-1, 0, 1, 2, -2)},
        infer=same_type,
        requires=axis_exists,
        reference=lifted(reference),
        dtypes=FLOATS,
        tolerance=Tolerance.TRANSCENDENTAL,
        domain=(-4.0, 4.0),
        shapes=((2, 3, 4), (5,), (), (1, 1), (0, 3), (2, 3, 4, 2)),
        tags=("activation", "normalisation", "shape-preserving"),
        limits=no_bfloat16(FLOATS),
        torch=torch,
        # mindspore.ops.softmax, softmin: "Tensor of shape (N, *)"; log_softmax: "(*, N, *)".
        mindspore={name: only(has_axes, one) for name, one in mindspore.items()},
    )


def _torch_along(leaf: str, module: str, more: Forms) -> Forms:
    return torch_calls(
        f"F.{leaf}",
        "{x}, dim={dim}",
        keyword="input={x}, dim={dim}",
        method="" if leaf == "softmin" else f"{{x}}.{leaf}({{dim}})",
        inplace="",
        module=f"nn.{module}(dim={{dim}})",
        more=more,
    )


_along(
    "softmax",
    softmax,
    torch=_torch_along(
        "softmax",
        "Softmax",
        {
            "function_torch": Form("torch.softmax({x}, {dim})", source="torch.softmax: alias"),
            "function_special": Form(
                "torch.special.softmax({x}, {dim})", source="torch.special.softmax"
            ),
        },
    ),
    mindspore=mindspore_calls(
        "ops.softmax",
        "{x}, {dim}",
        keyword="input={x}, axis={dim}",
        method="{x}.softmax({dim})",
        mint="mint.nn.functional.softmax",
        module="Softmax({dim})",
        default=Form("ops.softmax({x})", when={"dim": -1}, source="mindspore.ops.softmax: axis=-1"),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Softmax({dim})",),
                source="mindspore.ops.Softmax: see mindspore.ops.softmax()",
            )
        },
    ),
)
_along(
    "log_softmax",
    log_softmax,
    torch=_torch_along(
        "log_softmax",
        "LogSoftmax",
        {
            "function_torch": Form(
                "torch.log_softmax({x}, {dim})", source="torch.log_softmax: F.log_softmax"
            ),
            "composed": Form(
                "torch.log(torch.softmax({x}, {dim}))", source="F.log_softmax: log(softmax(x))"
            ),
        },
    ),
    mindspore=mindspore_calls(
        "ops.log_softmax",
        "{x}, {dim}",
        keyword="logits={x}, axis={dim}",
        method="",
        module="LogSoftmax({dim})",
        dtypes=_SHORT,
        default=Form(
            "ops.log_softmax({x})", when={"dim": -1}, source="mindspore.ops.log_softmax: axis=-1"
        ),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.LogSoftmax({dim})",),
                source="mindspore.ops.LogSoftmax: equivalent to mindspore.ops.log_softmax()",
            ),
            # The list of dtypes leaves float64 out, but it is taken, and answered in float64.
            "function_double": Form(
                "ops.log_softmax({x}, axis={dim})",
                dtypes=("float64",),
                source="mindspore.ops.log_softmax: with the same type as the logits",
            ),
        },
    ),
)
_along(
    "softmin",
    softmin,
    torch=_torch_along(
        "softmin",
        "Softmin",
        {"composed": Form("F.softmax(-{x}, dim={dim})", source="F.softmin: softmax(-x)")},
    ),
    mindspore=mindspore_calls(
        "ops.softmin",
        "{x}, {dim}",
        keyword="x={x}, axis={dim}",
        method="",
        module="Softmin({dim})",
        dtypes=_SHORT,
        composed=Form("ops.softmax(-{x}, {dim})", source="mindspore.ops.softmin: softmax(-x)"),
    ),
)


def glu_type(call: OpCall) -> Type:
    x = call["x"]
    axis = normalised_axis(call.integer("dim"), x.rank)
    return Dense(x.dtype, (*x.shape[:axis], x.extents[axis] // 2, *x.shape[axis + 1 :]))


def glu_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    x, dim = call["x"], call.integer("dim")
    exists = -x.rank <= dim < x.rank
    yield exists, f"axis {dim} does not exist in {x.rank} dimensions"
    if exists:
        extent = x.extents[dim]
        yield extent % 2 == 0, f"axis {dim} has extent {extent}, expected an even one"


def glu(x: Array, *, dim: int) -> object:
    kept, gate = np.split(x, 2, axis=dim)
    return kept * special.expit(gate)


op(
    "glu",
    "x",
    attrs={"dim": (-1, 0, 1, -2)},
    infer=glu_type,
    requires=glu_fits,
    reference=lifted(glu),
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
    shapes=((2, 6, 4), (4,), (2, 2), (0, 4)),
    tags=("activation",),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "F.glu",
        "{x}, {dim}",
        keyword="input={x}, dim={dim}",
        method="",
        inplace="",
        module="nn.GLU({dim})",
        default=Form("F.glu({x})", when={"dim": -1}, source="F.glu: dim=-1"),
    ),
    mindspore=mindspore_calls(
        "ops.glu",
        "{x}, {dim}",
        keyword="x={x}, axis={dim}",
        method="",
        mint="mint.nn.functional.glu",
        module="GLU({dim})",
        mint_module=cell("mint.nn.GLU({dim})"),
        default=Form("ops.glu({x})", when={"dim": -1}, source="mindspore.ops.glu: axis=-1"),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.GLU({dim})",),
                source="mindspore.ops.GLU: see mindspore.ops.glu()",
            )
        },
    ),
)
