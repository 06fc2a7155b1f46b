"""Normalisation by batch, by instance, by neighbouring channels and by length."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.ir.graph import Attr, Input
from engine.ir.types import FLOATS, Dense
from engine.ops.normalisation import (
    ACCUMULATING,
    CPU_FLOATS,
    both,
    channel_companions,
    channel_fits,
    channels,
    scaled,
    standardised,
)
from engine.ops.numeric import Array, widened
from engine.ops.operands import positive, weight
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    Requirement,
    axis,
    default,
    lacks,
    limited,
    product,
    same_as_first,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op


# ------------------------------------------------------------------------------------ batches
def batch_norm(
    x: Array, mean: Array, var: Array, w: Array | None, b: Array | None, *, eps: float
) -> Array:
    shape = channels(x)
    root = np.sqrt(var.reshape(shape) + x.dtype.type(eps))
    return scaled((x - mean.reshape(shape)) / root, w, b, shape)


def of_images(call: OpCall) -> bool:
    """MindSpore documents (N, C) and takes up to two axes more."""
    return call["x"].rank <= 4


def both_of_images(call: OpCall) -> bool:
    return both(call) and of_images(call)


def batch_norm_companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    affine = channel_companions(x, attrs)
    count = static(x)[1]
    return {
        "mean": weight("mean", x.dtype, count, seed=31),
        "var": positive("var", x.dtype, count, seed=37),
        **affine,
    }


BATCH_LAYER = (
    "{self} = nn.BatchNorm%s({w}.shape[0], eps={eps}).eval()",
    "{self}.running_mean = {mean}",
    "{self}.running_var = {var}",
    "{self}.weight = nn.Parameter({w})",
    "{self}.bias = nn.Parameter({b})",
)


def batch_layer(dims: str) -> tuple[str, ...]:
    return tuple(line.replace("%s", dims) for line in BATCH_LAYER)


def batch_cell(dims: str) -> tuple[str, ...]:
    return (
        (
            f"{{self}} = nn.BatchNorm{dims}({{w}}.shape[0], eps={{eps}}, gamma_init={{w}},"
            " beta_init={b}, moving_mean_init={mean}, moving_var_init={var},"
            " use_batch_statistics=False, dtype={w}.dtype)"
        ),
    )


op(
    "batch_norm",
    "x mean var w? b?",
    fixed=("mean", "var"),
    attrs={"eps": (1e-05, 0.001)},
    dtypes=FLOATS,
    infer=same_as_first,
    requires=channel_fits,
    reference=widened(batch_norm),
    torch={
        "function": "F.batch_norm({x}, {mean}, {var}, {w}, {b}, eps={eps})",
        "keyword": Form(
            "F.batch_norm({x}, running_mean={mean}, running_var={var}, weight={w}, bias={b},"
            " training=False, eps={eps})",
            source=default("torch.nn.functional.batch_norm", "training=False"),
        ),
        "module": Form(
            "{self}({x})",
            setup=batch_layer("2d"),
            when=lambda call: both(call) and call["x"].rank == 4,
            source="torch.nn.BatchNorm2d: in evaluation the running estimates normalise",
        ),
        "module_1d": Form(
            "{self}({x})",
            setup=batch_layer("1d"),
            when=lambda call: both(call) and call["x"].rank in (2, 3),
            source="torch.nn.BatchNorm1d: in evaluation the running estimates normalise",
        ),
        "default": Form(
            "F.batch_norm({x}, {mean}, {var}, {w}, {b})",
            when={"eps": 1e-05},
            source=default("torch.nn.functional.batch_norm", "eps=1e-05"),
        ),
    },
    mindspore=limited(
        CPU_FLOATS,
        {
            "function": Form(
                "ops.batch_norm({x}, {mean}, {var}, {w}, {b}, eps={eps})", when=both_of_images
            ),
            "function_plain": Form(
                "ops.batch_norm({x}, {mean}, {var}, ops.ones_like({mean}), ops.zeros_like({mean}),"
                " eps={eps})",
                when=lambda call: lacks("w", "b")(call) and of_images(call),
            ),
            "primitive": Form(
                "ops.BatchNorm(is_training=False, epsilon={eps})({x}, {w}, {b}, {mean}, {var})[0]",
                when=both_of_images,
                source="mindspore.ops.BatchNorm: inputs x, scale, bias, mean, variance",
            ),
            "module": Form(
                "{self}({x})",
                setup=batch_cell("2d"),
                when=lambda call: both(call) and call["x"].rank == 4,
                source="mindspore.nn.BatchNorm2d: use_batch_statistics=False takes the moving ones",
            ),
            "module_1d": Form(
                "{self}({x})",
                setup=batch_cell("1d"),
                when=lambda call: both(call) and call["x"].rank in (2, 3),
                source="mindspore.nn.BatchNorm1d: use_batch_statistics=False takes the moving ones",
            ),
            "default": Form(
                "ops.batch_norm({x}, {mean}, {var}, {w}, {b})",
                when=lambda call: both_of_images(call) and call.attr("eps") == 1e-05,
                source=default("mindspore.ops.batch_norm", "training=False, eps=1e-05"),
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=batch_norm_companions,
    shapes=((2, 3, 4, 2), (2, 3), (2, 3, 4), (1, 2, 1, 1)),
    tags={"normalisation", "shape-preserving"},
)


def several_values(call: OpCall) -> Requirement:
    yield from channel_fits(call)
    shape = static(call["x"])
    yield product(shape) > shape[1], "a channel has a single value in the batch"


def batch_axes(x: Array) -> tuple[int, ...]:
    return tuple(at for at in range(x.ndim) if at != 1)


op(
    "batch_norm_train",
    "x w? b?",
    attrs={"eps": (1e-05, 0.001)},
    dtypes=FLOATS,
    infer=same_as_first,
    requires=several_values,
    reference=widened(
        lambda x, w, b, eps: scaled(standardised(x, batch_axes(x), eps), w, b, channels(x))
    ),
    torch={
        "function": "F.batch_norm({x}, None, None, {w}, {b}, training=True, eps={eps})",
        "module": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.BatchNorm2d({w}.shape[0], eps={eps}, track_running_stats=False)",
                "{self}.weight = nn.Parameter({w})",
                "{self}.bias = nn.Parameter({b})",
            ),
            when=lambda call: both(call) and call["x"].rank == 4,
            source="torch.nn.BatchNorm2d: without running statistics the batch's are used",
        ),
        "module_plain": Form(
            "nn.BatchNorm2d({x}.shape[1], eps={eps}, affine=False, track_running_stats=False)({x})",
            when=lambda call: lacks("w", "b")(call) and call["x"].rank == 4,
            source="torch.nn.BatchNorm2d: affine=False has no parameters",
        ),
    },
    mindspore=limited(
        CPU_FLOATS,
        {
            "primitive": Form(
                "ops.BatchNorm(True, {eps}, 0.1)({x}, {w}, {b}, ops.zeros_like({b}),"
                " ops.ones_like({b}))[0]",
                when=both_of_images,
            ),
            "function": Form(
                "ops.batch_norm({x}, ops.zeros_like({b}), ops.ones_like({b}), {w}, {b},"
                " training=True, eps={eps})",
                when=both_of_images,
                source="mindspore.ops.batch_norm: training=True computes mean and variance",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=channel_companions,
    shapes=((2, 3, 4, 2), (4, 3), (1, 2, 2, 1)),
    tags={"normalisation", "shape-preserving"},
)


# ----------------------------------------------------------------------------------- instances
def instance_fits(call: OpCall) -> Requirement:
    yield from channel_fits(call)
    yield call["x"].rank >= 3, "an instance has no axes beside the channels"
    yield product(static(call["x"])[2:]) > 1, "a channel of an instance has a single value"


op(
    "instance_norm",
    "x w? b?",
    attrs={"eps": (1e-05, 0.001)},
    dtypes=FLOATS,
    infer=same_as_first,
    requires=instance_fits,
    reference=widened(
        lambda x, w, b, eps: scaled(
            standardised(x, tuple(range(2, x.ndim)), eps), w, b, channels(x)
        )
    ),
    torch={
        "function": "F.instance_norm({x}, weight={w}, bias={b}, eps={eps})",
        "module": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.InstanceNorm2d({w}.shape[0], eps={eps}, affine=True)",
                "{self}.weight = nn.Parameter({w})",
                "{self}.bias = nn.Parameter({b})",
            ),
            when=lambda call: both(call) and call["x"].rank == 4,
            source="torch.nn.InstanceNorm2d: affine=True has weight and bias",
        ),
        "module_plain": Form(
            "nn.InstanceNorm1d({x}.shape[1], eps={eps})({x})",
            when=lambda call: not call.has("w") and not call.has("b") and call["x"].rank == 3,
            source=default("torch.nn.InstanceNorm1d", "affine=False"),
        ),
        "composed": Form(
            "F.group_norm({x}, {x}.shape[1], {w}, {b}, {eps})",
            source="torch.nn.GroupNorm: num_groups equal to channels is InstanceNorm",
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {"composed": "ops.group_norm({x}, {x}.shape[1], {w}, {b}, {eps})"},
    ),
    tolerance=ACCUMULATING,
    companions=channel_companions,
    shapes=((2, 3, 4, 2), (2, 3, 4), (1, 1, 1, 3)),
    tags={"normalisation", "shape-preserving"},
)


# ------------------------------------------------------------------------------------- vectors
def local_response_norm(x: Array, *, size: int, alpha: float, beta: float, k: float) -> Array:
    """x / (k + alpha * mean of squares of the neighbouring channels) ** beta."""
    pads = [(0, 0)] * x.ndim
    pads[1] = (size // 2, (size - 1) // 2)
    squares = np.pad(x**2, pads)
    total = np.sum([squares[:, at : at + x.shape[1]] for at in range(size)], axis=0)
    found: Array = x / (k + alpha * total / size) ** beta
    return found.astype(x.dtype)


op(
    "local_response_norm",
    "x",
    attrs={"size": (3, 1, 5), "alpha": (0.5, 0.0001), "beta": (0.75, 0.5), "k": (1.0, 2.0)},
    dtypes=("float32", "float64"),
    infer=same_as_first,
    requires=lambda call: (
        (call["x"].rank >= 3, "the input has fewer than three axes"),
        (0 not in static(call["x"]), "the input is empty"),
    ),
    reference=widened(local_response_norm),
    torch={
        "function": "F.local_response_norm({x}, {size}, {alpha}, {beta}, {k})",
        "module": Form(
            "nn.LocalResponseNorm({size}, {alpha}, {beta}, {k})({x})",
            source="torch.nn.LocalResponseNorm: see local_response_norm",
        ),
        "keyword": Form(
            "F.local_response_norm({x}, size={size}, alpha={alpha}, beta={beta}, k={k})",
            source="torch.nn.functional.local_response_norm",
        ),
        "default": Form(
            "F.local_response_norm({x}, {size})",
            when={"alpha": 0.0001, "beta": 0.75, "k": 1.0},
            source=default("F.local_response_norm", "alpha=0.0001, beta=0.75, k=1.0"),
        ),
    },
    mindspore=limited(
        CPU_FLOATS,
        {
            "function": Form(
                "ops.lrn({x}, {size} // 2, bias={k}, alpha={alpha} / {size}, beta={beta})",
                when=lambda call: call["x"].rank == 4 and call.integer("size") % 2 == 1,
            ),
            "module": Form(
                "nn.LRN({size} // 2, bias={k}, alpha={alpha} / {size}, beta={beta})({x})",
                when=lambda call: call["x"].rank == 4 and call.integer("size") % 2 == 1,
                source="mindspore.nn.LRN: the same formula as mindspore.ops.lrn",
            ),
            "primitive": Form(
                "ops.LRN({size} // 2, {k}, {alpha} / {size}, {beta})({x})",
                when=lambda call: call["x"].rank == 4 and call.integer("size") % 2 == 1,
                source="mindspore.ops.LRN: the same formula as mindspore.ops.lrn",
            ),
        },
    ),
    tolerance=Tolerance.TRANSCENDENTAL,
    shapes=((2, 4, 3, 2), (2, 3, 4)),
    tags={"normalisation", "shape-preserving"},
)


def normalise(x: Array, *, p: float, dim: int, eps: float) -> Array:
    size = (np.abs(x) ** p).sum(dim, keepdims=True) ** (1 / p)
    found: Array = x / np.maximum(size, x.dtype.type(eps))
    return found.astype(x.dtype)


op(
    "normalize",
    "x",
    attrs={"p": (2.0, 1.0), "dim": (1, -1, 0), "eps": (1e-12, 1e-06)},
    dtypes=FLOATS,
    infer=lambda call: (axis(call.integer("dim"), call["x"].rank), same_as_first(call))[1],
    requires=lambda call: (
        (call["x"].rank > 0, "a scalar has no axis to normalise"),
        (0 not in static(call["x"]), "the input is empty"),
    ),
    reference=widened(normalise),
    torch={
        "function": "F.normalize({x}, p={p}, dim={dim}, eps={eps})",
        "default": Form(
            "F.normalize({x})",
            when={"p": 2.0, "dim": 1, "eps": 1e-12},
            source=default("torch.nn.functional.normalize", "p=2.0, dim=1, eps=1e-12"),
        ),
        "composed": Form(
            "{x} / torch.linalg.vector_norm({x}, {p}, {dim}, keepdim=True).clamp_min({eps})",
            source="torch.nn.functional.normalize: v / max(norm of v, eps)",
        ),
    },
    mindspore=limited(
        ("float32", "float64"),
        {
            "composed": Form(
                "{x} / ops.maximum(ops.sqrt(ops.sum(ops.square({x}), {dim}, True)), {eps})",
                when={"p": 2.0},
            ),
            "composed_l1": Form(
                "{x} / ops.maximum(ops.sum(ops.abs({x}), {dim}, True), {eps})", when={"p": 1.0}
            ),
            "primitive": Form(
                "ops.L2Normalize({dim}, {eps} ** 2)({x})",
                when={"p": 2.0},
                source="mindspore.ops.L2Normalize: x / sqrt(max(sum of squares, epsilon))",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((2, 3, 4), (3, 4), (1, 2)),
    tags={"normalisation", "shape-preserving"},
)
