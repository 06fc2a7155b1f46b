"""Losses of classes, and similarities of vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import Dense
from engine.ops.loss import CPU, REDUCTIONS, TORCH, reduced, same_shapes, signs
from engine.ops.numeric import Array, widened
from engine.ops.operands import beside, index, positive
from engine.ops.rules import (
    Requirement,
    axis,
    default,
    limited,
    resized,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op


# ------------------------------------------------------------------------------------- classes
def classes_fit(call: OpCall) -> Requirement:
    yield call["x"].rank >= 2, "the input has no class axis"
    shape = static(call["x"])
    yield 0 not in shape, "the input is empty"
    wanted = (shape[0], *shape[2:])
    yield static(call["target"]) == wanted, f"the target is not of shape {wanted}"
    yield call["target"].dtype == "int64", "the target is not int64"
    if call.has("w"):
        yield static(call["w"]) == shape[1:2], "the weight has not one value a class"


def class_loss_type(call: OpCall) -> Dense:
    shape = () if call.attr("reduction") != "none" else static(call["target"])
    return resized(call["x"], shape)


def class_companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    if x.rank < 2:
        raise ConstraintViolated("the input has no class axis")
    batch, classes, *rest = static(x)
    return {
        "target": index("target", batch, *rest, below=max(classes, 1)),
        "w": positive("w", x.dtype, classes),
    }


def picked(x: Array, target: Array) -> Array:
    return np.take_along_axis(x, np.expand_dims(target, 1), 1).squeeze(1)


def nll(x: Array, target: Array, w: Array | None, reduction: str, smoothing: float = 0.0) -> Array:
    """-w[target] log p[target], smoothed over the classes; the mean divides by the weights."""
    weights = np.ones(x.shape[1], x.dtype) if w is None else w
    scale = weights[target]
    loss = -picked(x, target) * scale
    if smoothing:
        spread = -(x * weights.reshape((1, -1, *(1,) * (x.ndim - 2)))).sum(1) / x.shape[1]
        loss = (1 - smoothing) * loss + smoothing * spread
    if reduction == "mean":
        return np.asarray(loss.sum() / scale.sum()).astype(x.dtype)
    return reduced(loss, reduction).astype(x.dtype)


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(1, keepdims=True)
    found: Array = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return found


op(
    "cross_entropy",
    "x target:integer w?",
    fixed=("w",),
    attrs={"reduction": REDUCTIONS, "label_smoothing": (0.0, 0.1)},
    dtypes=TORCH,
    infer=class_loss_type,
    requires=classes_fit,
    reference=widened(
        lambda x, target, w, reduction, label_smoothing: nll(
            log_softmax(x), target, w, reduction, label_smoothing
        )
    ),
    torch={
        "function": "F.cross_entropy({x}, {target}, {w}, reduction={reduction},"
        " label_smoothing={label_smoothing})",
        "module": Form(
            "nn.CrossEntropyLoss({w}, reduction={reduction},"
            " label_smoothing={label_smoothing})({x}, {target})",
            source="torch.nn.CrossEntropyLoss: see torch.nn.functional.cross_entropy",
        ),
        "default": Form(
            "F.cross_entropy({x}, {target}, {w})",
            when={"reduction": "mean", "label_smoothing": 0.0},
            source=default("F.cross_entropy", "reduction='mean', label_smoothing=0.0"),
        ),
        "composed": Form(
            "F.nll_loss(F.log_softmax({x}, 1), {target}, {w}, reduction={reduction})",
            when={"label_smoothing": 0.0},
            source="torch.nn.CrossEntropyLoss: equivalent to LogSoftmax followed by NLLLoss",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": "ops.cross_entropy({x}, {target}.astype(ms.int32), {w},"
            " reduction={reduction}, label_smoothing={label_smoothing})",
            "function_long": Form(
                "ops.cross_entropy({x}, {target}, {w}, reduction={reduction},"
                " label_smoothing={label_smoothing})",
                source="mindspore.ops.cross_entropy: class indices of int32 or int64",
            ),
            "module": Form(
                "{self}({x}, {target}.astype(ms.int32))",
                setup=(
                    (
                        "{self} = nn.CrossEntropyLoss({w}, reduction={reduction},"
                        " label_smoothing={label_smoothing})"
                    ),
                ),
                source="mindspore.nn.CrossEntropyLoss: see mindspore.ops.cross_entropy",
            ),
            "default": Form(
                "ops.cross_entropy({x}, {target}.astype(ms.int32), {w})",
                when={"reduction": "mean", "label_smoothing": 0.0},
                source=default("ops.cross_entropy", "reduction='mean', label_smoothing=0.0"),
            ),
            "composed": Form(
                "ops.nll_loss(ops.log_softmax({x}, 1), {target}.astype(ms.int32), {w},"
                " reduction={reduction})",
                when={"label_smoothing": 0.0},
                source="mindspore.ops.cross_entropy: log softmax and nll loss",
            ),
        },
    ),
    tolerance=Tolerance.TRANSCENDENTAL,
    companions=class_companions,
    shapes=((3, 4), (2, 3, 4), (1, 2)),
    tags={"loss"},
)

op(
    "nll_loss",
    "x target:integer w?",
    fixed=("w",),
    attrs={"reduction": REDUCTIONS},
    dtypes=TORCH,
    infer=class_loss_type,
    requires=classes_fit,
    reference=widened(lambda x, target, w, reduction: nll(x, target, w, reduction)),
    torch={
        "function": "F.nll_loss({x}, {target}, {w}, reduction={reduction})",
        "module": Form(
            "nn.NLLLoss({w}, reduction={reduction})({x}, {target})",
            source="torch.nn.NLLLoss: see torch.nn.functional.nll_loss",
        ),
        "default": Form(
            "F.nll_loss({x}, {target}, {w})",
            when={"reduction": "mean"},
            source=default("torch.nn.functional.nll_loss", "reduction='mean'"),
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": "ops.nll_loss({x}, {target}.astype(ms.int32), {w}, reduction={reduction})",
            "function_long": Form(
                "ops.nll_loss({x}, {target}, {w}, reduction={reduction})",
                source="mindspore.ops.nll_loss: target of int32 or int64",
            ),
            "module": Form(
                "{self}({x}, {target}.astype(ms.int32))",
                setup=("{self} = nn.NLLLoss({w}, reduction={reduction})",),
                source="mindspore.nn.NLLLoss: see mindspore.ops.nll_loss",
            ),
            "default": Form(
                "ops.nll_loss({x}, {target}.astype(ms.int32), {w})",
                when={"reduction": "mean"},
                source=default("mindspore.ops.nll_loss", "reduction='mean'"),
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=class_companions,
    shapes=((3, 4), (2, 3, 4), (1, 2)),
    domain=(-3.0, -0.1),
    tags={"loss"},
)


def multi_margin(x: Array, target: Array, *, p: int, margin: int, reduction: str) -> Array:
    gaps = np.maximum(0, margin - picked(x, target)[:, None] + x) ** p
    np.put_along_axis(gaps, target[:, None], 0, 1)
    return reduced(gaps.sum(1) / x.dtype.type(x.shape[1]), reduction)


op(
    "multi_margin_loss",
    "x target:integer",
    attrs={"p": (1, 2), "margin": (1, 2), "reduction": REDUCTIONS},
    dtypes=TORCH,
    infer=class_loss_type,
    requires=lambda call: (
        (call["x"].rank == 2, "the input is not a batch of class scores"),
        *classes_fit(call),
    ),
    reference=widened(
        lambda x, target, p, margin, reduction: multi_margin(
            x, target, p=p, margin=margin, reduction=reduction
        )
    ),
    torch={
        "function": "F.multi_margin_loss({x}, {target}, p={p}, margin={margin},"
        " reduction={reduction})",
        "module": Form(
            "nn.MultiMarginLoss(p={p}, margin={margin}, reduction={reduction})({x}, {target})",
            source="torch.nn.MultiMarginLoss: see multi_margin_loss",
        ),
        "default": Form(
            "F.multi_margin_loss({x}, {target})",
            when={"p": 1, "margin": 1, "reduction": "mean"},
            source=default("F.multi_margin_loss", "p=1, margin=1.0, reduction='mean'"),
        ),
    },
    mindspore=limited(
        CPU,
        {
            "function": "ops.multi_margin_loss({x}, {target}, p={p}, margin={margin},"
            " reduction={reduction})",
            "default": Form(
                "ops.multi_margin_loss({x}, {target})",
                when={"p": 1, "margin": 1, "reduction": "mean"},
                source=default("ops.multi_margin_loss", "p=1, margin=1, reduction='mean'"),
            ),
            "module": Form(
                "nn.MultiMarginLoss(p={p}, margin=float({margin}), reduction={reduction})"
                "({x}, {target})",
                source="mindspore.nn.MultiMarginLoss: see mindspore.ops.multi_margin_loss",
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {"target": class_companions(x, attrs)["target"]},
    shapes=((3, 4), (1, 2)),
    tags={"loss"},
)


# --------------------------------------------------------------------------------- similarities
def cosine_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    at = axis(call.integer("dim"), len(shape))
    return resized(call["x"], (*shape[:at], *shape[at + 1 :]))


def cosine(x: Array, y: Array, dim: int, eps: float = 1e-8) -> Array:
    sizes = [np.maximum(np.sqrt((one**2).sum(dim)), x.dtype.type(eps)) for one in (x, y)]
    found: Array = (x * y).sum(dim) / (sizes[0] * sizes[1])
    return found


op(
    "cosine_similarity",
    "x y",
    attrs={"dim": (1, -1, 0), "eps": (1e-08, 1e-06)},
    dtypes=TORCH,
    infer=cosine_type,
    requires=lambda call: (
        *same_shapes("x", "y")(call),
        (call["x"].rank > 0, "a scalar has no axis"),
    ),
    reference=widened(cosine),
    torch={
        "function": "F.cosine_similarity({x}, {y}, dim={dim}, eps={eps})",
        "module": Form(
            "nn.CosineSimilarity(dim={dim}, eps={eps})({x}, {y})",
            source="torch.nn.CosineSimilarity: see cosine_similarity",
        ),
        "default": Form(
            "torch.cosine_similarity({x}, {y})",
            when={"dim": 1, "eps": 1e-08},
            source=default("torch.nn.functional.cosine_similarity", "dim=1, eps=1e-08"),
        ),
    },
    mindspore=limited(
        CPU,
        {
            "function": "ops.cosine_similarity({x}, {y}, dim={dim}, eps={eps})",
            "default": Form(
                "ops.cosine_similarity({x}, {y})",
                when={"dim": 1, "eps": 1e-08},
                source=default("mindspore.ops.cosine_similarity", "dim=1, eps=1e-08"),
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {"y": beside("y", x)},
    shapes=((2, 3, 4), (3, 4), (2, 1)),
    tags={"similarity"},
)


def vectors_fit(call: OpCall) -> Requirement:
    yield call["x"].rank == 2, "the input is not a batch of vectors"
    yield from same_shapes("x", "y")(call)
    if call.has("target"):
        yield static(call["target"]) == static(call["x"])[:1], "the target does not fit the batch"


def batch_loss_type(call: OpCall) -> Dense:
    shape = shape_of(call["x"], 2)[:1] if call.attr("reduction") == "none" else ()
    return resized(call["x"], shape)


def cosine_loss(x: Array, y: Array, target: Array, *, margin: float, reduction: str) -> Array:
    eps = x.dtype.type(1e-12)
    product = (x * y).sum(1)
    cos = product / np.sqrt(((x**2).sum(1) + eps) * ((y**2).sum(1) + eps))
    loss = np.where(target == 1, 1 - cos, np.maximum(0, cos - margin)).astype(x.dtype)
    return reduced(loss, reduction)


op(
    "cosine_embedding_loss",
    "x y target",
    attrs={"margin": (0.0, 0.5), "reduction": REDUCTIONS},
    dtypes=TORCH,
    infer=batch_loss_type,
    requires=vectors_fit,
    reference=widened(
        lambda x, y, target, margin, reduction: cosine_loss(
            x, y, target, margin=margin, reduction=reduction
        )
    ),
    torch={
        "function": "F.cosine_embedding_loss({x}, {y}, {target}, margin={margin},"
        " reduction={reduction})",
        "module": Form(
            "nn.CosineEmbeddingLoss({margin}, reduction={reduction})({x}, {y}, {target})",
            source="torch.nn.CosineEmbeddingLoss: see cosine_embedding_loss",
        ),
    },
    mindspore=limited(
        CPU,
        {
            "function": "ops.cosine_embedding_loss({x}, {y}, {target}, margin={margin},"
            " reduction={reduction})",
            "module": Form(
                "nn.CosineEmbeddingLoss({margin}, {reduction})({x}, {y}, {target})",
                source="mindspore.nn.CosineEmbeddingLoss: see cosine_embedding_loss",
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {
        "y": beside("y", x),
        "target": signs("target", x, *shape_of(x, 2)[:1]),
    },
    shapes=((3, 4), (2, 5)),
    tags={"loss"},
)


def triplet(x: Array, y: Array, z: Array, *, margin: float, reduction: str) -> Array:
    eps = x.dtype.type(1e-6)
    near, far = (np.sqrt(((x - one + eps) ** 2).sum(1)) for one in (y, z))
    return reduced(np.maximum(0, near - far + margin).astype(x.dtype), reduction)


def triplet_terms(margin: str) -> str:
    near = "ops.sqrt(ops.sum(ops.square({x} - {y} + 1e-06), 1))"
    far = "ops.sqrt(ops.sum(ops.square({x} - {z} + 1e-06), 1))"
    return f"ops.relu({near} - {far} + {margin})"


op(
    "triplet_margin_loss",
    "x y z",
    attrs={"margin": (1.0, 0.5), "reduction": REDUCTIONS},
    dtypes=TORCH,
    infer=batch_loss_type,
    requires=lambda call: (
        (call["x"].rank == 2, "the input is not a batch of vectors"),
        *same_shapes("x", "y", "z")(call),
    ),
    reference=widened(
        lambda x, y, z, margin, reduction: triplet(x, y, z, margin=margin, reduction=reduction)
    ),
    torch={
        "function": "F.triplet_margin_loss({x}, {y}, {z}, margin={margin}, reduction={reduction})",
        "module": Form(
            "nn.TripletMarginLoss(margin={margin}, reduction={reduction})({x}, {y}, {z})",
            source="torch.nn.TripletMarginLoss: see triplet_margin_loss",
        ),
        "default": Form(
            "F.triplet_margin_loss({x}, {y}, {z})",
            when={"margin": 1.0, "reduction": "mean"},
            source=default("F.triplet_margin_loss", "margin=1.0, p=2, eps=1e-6"),
        ),
        "composed": Form(
            "F.triplet_margin_with_distance_loss({x}, {y}, {z}, margin={margin},"
            " reduction={reduction})",
            source="F.triplet_margin_with_distance_loss: the default is the pairwise distance",
        ),
    },
    mindspore=limited(
        CPU,
        {
            "composed": Form(f"ops.mean({triplet_terms('{margin}')})", when={"reduction": "mean"}),
            "composed_sum": Form(
                f"ops.sum({triplet_terms('{margin}')})", when={"reduction": "sum"}
            ),
            "composed_none": Form(triplet_terms("{margin}"), when={"reduction": "none"}),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {"y": beside("y", x, 61), "z": beside("z", x, 67)},
    shapes=((3, 4), (2, 5)),
    tags={"loss"},
)
