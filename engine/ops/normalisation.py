"""Normalisations over axes, channels, groups and batches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import FLOATS, Dense
from engine.ops.numeric import Array, widened
from engine.ops.operands import positive, weight
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    Requirement,
    default,
    has,
    lacks,
    limited,
    product,
    same_as_first,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

ACCUMULATING = Tolerance.ACCUMULATING
CPU_FLOATS = ("float32", "float16")


def standardised(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    """(x - mean) / sqrt(variance + eps) over the axes."""
    centred = x - x.mean(axes, keepdims=True)
    found: Array = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + x.dtype.type(eps))
    return found


def scaled(x: Array, w: Array | None, b: Array | None, shape: tuple[int, ...]) -> Array:
    if w is not None:
        x = x * w.reshape(shape)
    return x if b is None else x + b.reshape(shape)


def channels(x: Array) -> tuple[int, ...]:
    """The shape in which a vector of channels meets x of shape (N, C, ...)."""
    return (1, -1, *(1,) * (x.ndim - 2))


# ---------------------------------------------------------------------------------- last axes
def tail(call: OpCall) -> tuple[int, ...]:
    shape, count = static(call["x"]), call.integer("axes")
    if not 0 < count <= len(shape):
        raise ConstraintViolated(f"{count} axes to normalise in a tensor of rank {len(shape)}")
    return shape[-count:]


def tail_fits(call: OpCall) -> Requirement:
    want = tail(call)
    yield 0 not in static(call["x"]), "the mean of no elements is undefined"
    for name in ("w", "b"):
        if call.has(name):
            yield static(call[name]) == want, f"{name} does not have the normalised shape {want}"


def tail_companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    count = attrs["axes"]
    assert isinstance(count, int)
    shape = static(x)[-count:]
    return {"w": positive("w", x.dtype, *shape), "b": weight("b", x.dtype, *shape, seed=29)}


def both(call: OpCall) -> bool:
    return call.has("w") and call.has("b")


def weight_only(call: OpCall) -> bool:
    return call.has("w") and not call.has("b")


NORMALISED = "{x}.shape[-{axes}:]"
GAMMA = "ops.ones({x}.shape[-{axes}:], {x}.dtype)"
BETA = "ops.zeros({x}.shape[-{axes}:], {x}.dtype)"

LAYER = "ops.LayerNorm({x}.ndim - {axes}, {x}.ndim - {axes}, {eps})"

op(
    "layer_norm",
    "x w? b?",
    attrs={"axes": (1, 2), "eps": (1e-05, 1e-06)},
    dtypes=FLOATS,
    infer=same_as_first,
    requires=tail_fits,
    reference=widened(
        lambda x, w, b, axes, eps: scaled(
            standardised(x, tuple(range(x.ndim - axes, x.ndim)), eps), w, b, x.shape[-axes:]
        )
    ),
    torch={
        "function": f"F.layer_norm({{x}}, {NORMALISED}, {{w}}, {{b}}, {{eps}})",
        "module": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.LayerNorm({w}.shape, eps={eps})",
                "{self}.weight = nn.Parameter({w})",
                "{self}.bias = nn.Parameter({b})",
            ),
            when=both,
            source="torch.nn.LayerNorm: weight and bias of shape normalized_shape",
        ),
        "module_nobias": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.LayerNorm({w}.shape, eps={eps}, bias=False)",
                "{self}.weight = nn.Parameter({w})",
            ),
            when=weight_only,
            source="torch.nn.LayerNorm: bias=False learns no additive bias",
        ),
        "module_plain": Form(
            f"nn.LayerNorm({NORMALISED}, eps={{eps}}, elementwise_affine=False)({{x}})",
            when=lacks("w", "b"),
            source="torch.nn.LayerNorm: elementwise_affine=False has no parameters",
        ),
        "keyword": Form(
            f"F.layer_norm(input={{x}}, normalized_shape={NORMALISED}, weight={{w}}, bias={{b}},"
            " eps={eps})",
            source="torch.nn.functional.layer_norm",
        ),
        "default": Form(
            f"F.layer_norm({{x}}, {NORMALISED}, {{w}}, {{b}})",
            when={"eps": 1e-05},
            source=default("torch.nn.functional.layer_norm", "eps=1e-05"),
        ),
        "composed": Form(
            "({x} - {x}.mean(-1, keepdim=True))"
            " * torch.rsqrt({x}.var(-1, correction=0, keepdim=True) + {eps}) * {w} + {b}",
            when=lambda call: both(call) and call.attr("axes") == 1,
            dtypes=("float32", "float64"),
            source="torch.nn.LayerNorm: (x - E[x]) / sqrt(Var[x] + eps) * weight + bias",
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {
            "primitive": Form(
                "ops.LayerNorm(-1, -1, {eps})({x}, {w}, {b})[0]",
                when=lambda call: both(call) and call.attr("axes") == 1,
            ),
            "primitive_axes": Form(
                f"{LAYER}({{x}}, {{w}}, {{b}})[0]",
                when=both,
                source="mindspore.ops.LayerNorm: begin_norm_axis in the range [-1, rank)",
            ),
            "primitive_nobias": Form(
                f"{LAYER}({{x}}, {{w}}, {BETA})[0]",
                when=weight_only,
                source="mindspore.ops.LayerNorm: beta is added",
            ),
            "primitive_plain": Form(
                f"{LAYER}({{x}}, {GAMMA}, {BETA})[0]",
                when=lacks("w", "b"),
                source="mindspore.ops.LayerNorm: gamma multiplies, beta is added",
            ),
            "primitive_bias": Form(
                f"{LAYER}({{x}}, {GAMMA}, {{b}})[0]",
                when=lambda call: call.has("b") and not call.has("w"),
                source="mindspore.ops.LayerNorm: gamma multiplies, beta is added",
            ),
            "module": Form(
                "{self}({x})",
                setup=(
                    (
                        "{self} = nn.LayerNorm({w}.shape, -1, -1, gamma_init={w},"
                        " beta_init={b}, epsilon={eps}, dtype={w}.dtype)"
                    ),
                ),
                when=lambda call: both(call) and call.attr("axes") == 1,
                source="mindspore.nn.LayerNorm: begin_norm_axis and epsilon as in ops.LayerNorm",
            ),
            "composed": Form(
                "({x} - ops.mean({x}, -1, True))"
                " * ops.rsqrt(ops.var({x}, -1, 0, True) + {eps}) * {w} + {b}",
                when=lambda call: both(call) and call.attr("axes") == 1,
                dtypes=("float32", "float64"),
                source="mindspore.nn.LayerNorm: (x - E[x]) / sqrt(Var[x] + eps) * gamma + beta",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=tail_companions,
    shapes=((2, 3, 4), (2, 4), (1, 2, 1), (2, 2, 3, 4)),
    tags={"normalisation", "shape-preserving"},
)


def rms_norm(x: Array, w: Array | None, *, axes: int, eps: float) -> Array:
    over = tuple(range(x.ndim - axes, x.ndim))
    root = np.sqrt((x**2).mean(over, keepdims=True) + x.dtype.type(eps))
    return scaled(x / root, w, None, x.shape[-axes:])


op(
    "rms_norm",
    "x w?",
    attrs={"axes": (1, 2), "eps": (1e-06, 1e-05)},
    dtypes=FLOATS,
    infer=same_as_first,
    requires=lambda call: tail_fits(call),
    reference=widened(rms_norm),
    torch={
        "function": f"F.rms_norm({{x}}, {NORMALISED}, {{w}}, {{eps}})",
        "module": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.RMSNorm({w}.shape, eps={eps})",
                "{self}.weight = nn.Parameter({w})",
            ),
            when=has("w"),
            source="torch.nn.RMSNorm: y = x / sqrt(eps + mean(x^2)) * weight",
        ),
        "module_plain": Form(
            f"nn.RMSNorm({NORMALISED}, eps={{eps}}, elementwise_affine=False)({{x}})",
            when=lacks("w"),
            source="torch.nn.RMSNorm: elementwise_affine=False has no parameters",
        ),
        "keyword": Form(
            f"F.rms_norm(input={{x}}, normalized_shape={NORMALISED}, weight={{w}}, eps={{eps}})",
            source="torch.nn.functional.rms_norm",
        ),
        "composed": Form(
            "{x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + {eps}) * {w}",
            when=lambda call: call.has("w") and call.attr("axes") == 1,
            dtypes=("float32", "float64"),
            source="torch.nn.RMSNorm: y = x / sqrt(eps + mean(x^2)) * weight",
        ),
        "composed_plain": Form(
            "{x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + {eps})",
            when=lambda call: not call.has("w") and call.attr("axes") == 1,
            dtypes=("float32", "float64"),
            source="torch.nn.RMSNorm: y = x / sqrt(eps + mean(x^2))",
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {
            "composed": Form(
                "{x} * ops.rsqrt(ops.mean(ops.square({x}), -1, True) + {eps}) * {w}",
                when=lambda call: call.has("w") and call.attr("axes") == 1,
            ),
            "composed_plain": Form(
                "{x} * ops.rsqrt(ops.mean(ops.square({x}), -1, True) + {eps})",
                when=lambda call: not call.has("w") and call.attr("axes") == 1,
            ),
            "composed_two": Form(
                "{x} * ops.rsqrt(ops.mean(ops.square({x}), (-2, -1), True) + {eps}) * {w}",
                when=lambda call: call.has("w") and call.attr("axes") == 2,
            ),
            "composed_sqrt": Form(
                "{x} / ops.sqrt(ops.mean({x} * {x}, -1, True) + {eps}) * {w}",
                when=lambda call: call.has("w") and call.attr("axes") == 1,
                source="mindspore.ops.rsqrt: the reciprocal of the square root",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=lambda x, attrs: {"w": tail_companions(x, attrs)["w"]},
    shapes=((2, 3, 4), (2, 4), (1, 2, 1)),
    tags={"normalisation", "shape-preserving"},
)


# ------------------------------------------------------------------------------------- groups
def channel_fits(call: OpCall) -> Requirement:
    yield call["x"].rank >= 2, "the input has no channel axis"
    shape = static(call["x"])
    yield 0 not in shape, "the mean of no elements is undefined"
    for name in ("mean", "var", "w", "b"):
        if call.has(name):
            yield static(call[name]) == shape[1:2], f"{name} does not have one value a channel"


def group_fits(call: OpCall) -> Requirement:
    yield from channel_fits(call)
    groups, shape = call.integer("groups"), static(call["x"])
    yield groups > 0 and shape[1] % groups == 0, f"{groups} groups do not divide the channels"
    yield product(shape[1:]) > groups, "a group has a single value"


def channel_companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    if x.rank < 2:
        raise ConstraintViolated("the input has no channel axis")
    count = static(x)[1]
    return {"w": positive("w", x.dtype, count), "b": weight("b", x.dtype, count, seed=29)}


def group_norm(x: Array, w: Array | None, b: Array | None, *, groups: int, eps: float) -> Array:
    parts = x.reshape((x.shape[0], groups, -1))
    return scaled(standardised(parts, (2,), eps).reshape(x.shape), w, b, channels(x))


op(
    "group_norm",
    "x w? b?",
    attrs={"groups": (2, 1, 4), "eps": (1e-05, 0.001)},
    dtypes=FLOATS,
    infer=same_as_first,
    requires=group_fits,
    reference=widened(group_norm),
    torch={
        "function": "F.group_norm({x}, {groups}, {w}, {b}, {eps})",
        "module": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.GroupNorm({groups}, {w}.shape[0], eps={eps})",
                "{self}.weight = nn.Parameter({w})",
                "{self}.bias = nn.Parameter({b})",
            ),
            when=both,
            source="torch.nn.GroupNorm: learnable per-channel weight and bias",
        ),
        "module_plain": Form(
            "nn.GroupNorm({groups}, {x}.shape[1], eps={eps}, affine=False)({x})",
            when=lacks("w", "b"),
            source="torch.nn.GroupNorm: affine=False has no parameters",
        ),
        "keyword": Form(
            "F.group_norm({x}, num_groups={groups}, weight={w}, bias={b}, eps={eps})",
            source="torch.nn.functional.group_norm",
        ),
        "default": Form(
            "F.group_norm({x}, {groups}, {w}, {b})",
            when={"eps": 1e-05},
            source=default("torch.nn.functional.group_norm", "eps=1e-05"),
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {
            "function": "ops.group_norm({x}, {groups}, {w}, {b}, {eps})",
            "mint": Form(
                "mint.nn.functional.group_norm({x}, {groups}, {w}, {b}, {eps})",
                source="mindspore.mint.nn.functional.group_norm(input, num_groups, weight, bias)",
            ),
            "keyword": Form(
                "ops.group_norm({x}, num_groups={groups}, weight={w}, bias={b}, eps={eps})",
                source="mindspore.ops.group_norm",
            ),
            "default": Form(
                "ops.group_norm({x}, {groups}, {w}, {b})",
                when={"eps": 1e-05},
                source=default("mindspore.ops.group_norm", "eps=1e-05"),
            ),
            "module": Form(
                "{self}({x})",
                setup=(
                    (
                        "{self} = nn.GroupNorm({groups}, {w}.shape[0], eps={eps}, gamma_init={w},"
                        " beta_init={b}, dtype={w}.dtype)"
                    ),
                ),
                when=lambda call: both(call) and call["x"].rank == 4,
                dtypes=CPU_FLOATS,
                source="mindspore.nn.GroupNorm: group normalisation of (N, C, H, W)",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=channel_companions,
    shapes=((2, 4, 3), (2, 4, 3, 2), (1, 4, 1, 2)),
    tags={"normalisation", "shape-preserving"},
)
