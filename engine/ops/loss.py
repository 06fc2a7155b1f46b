"""Loss functions, reduced by mean, by sum or not at all, and similarities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.ir.graph import Attr, Formula, Input
from engine.ir.types import Dense
from engine.ops.numeric import Array, widened
from engine.ops.operands import beside, positive, probability
from engine.ops.rules import (
    Requirement,
    default,
    limited,
    resized,
    same_as_first,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

TORCH = ("float32", "float64")
CPU = ("float32", "float64")
REDUCTIONS: tuple[Attr, ...] = ("mean", "sum", "none")


def reduced(loss: Array, reduction: str) -> Array:
    match reduction:
        case "mean":
            return np.asarray(loss.mean())
        case "sum":
            return np.asarray(loss.sum())
    return loss


def same_shapes(*names: str) -> Callable[[OpCall], Requirement]:
    def requires(call: OpCall) -> Requirement:
        shapes = [static(call[name]) for name in names]
        yield len(set(shapes)) == 1, "the operands have different shapes"
        yield 0 not in shapes[0], "the mean of no elements is undefined"

    return requires


def loss_type(call: OpCall) -> Dense:
    first = same_as_first(call)
    return first if call.attr("reduction") == "none" else resized(first, ())


def signs(name: str, given: Dense, *shape: int) -> Input:
    """1 and -1 in turn, as targets that name a side."""
    init = Formula("cycle", (("values", (1, -1)),))
    return Input(name, Dense(given.dtype, shape), role="constant", init=init)


# ------------------------------------------------------------------------------ element by element
def loss_row(
    name: str,
    layer: str,
    loss: Callable[..., Array],
    *,
    operands: str = "x target",
    attrs: Mapping[str, tuple[Attr, ...]] | None = None,
    companions: Callable[[Dense], Mapping[str, Input]] | None = None,
    torch_name: str = "",
    mindspore: Mapping[str, str | Form] | None = None,
    composed: str = "",
    reductions: tuple[Attr, ...] = REDUCTIONS,
    domain: tuple[float, float] = (-2.0, 2.0),
    tolerance: Tolerance = Tolerance.ACCUMULATING,
    shapes: tuple[tuple[int, ...], ...] = ((2, 3, 4), (3, 4), (5,)),
    fixed: tuple[str, ...] = (),
) -> None:
    """A loss of operands of one shape; keywords of the call are the attributes' names."""
    names = tuple(operands.split())
    given = ", ".join(f"{{{one}}}" for one in names)
    keywords = ", ".join(f"{key}={{{key}}}" for key in (*(attrs or {}), "reduction"))
    called = torch_name or name
    ordinary = {key: values[0] for key, values in (attrs or {}).items()} | {"reduction": "mean"}
    torch: dict[str, str | Form] = {
        "function": f"F.{called}({given}, {keywords})",
        "module": Form(
            f"nn.{layer}({keywords})({given})", source=f"torch.nn.{layer}: see {called}"
        ),
        "default": Form(
            f"F.{called}({given})",
            when=ordinary,
            source=default(f"torch.nn.functional.{called}", "its ordinary attributes"),
        ),
    }
    if composed:
        torch["composed"] = Form(
            composed,
            when=ordinary,
            source=f"torch.nn.{layer}: the mean of the terms in its formula",
        )

    def reference(*arrays: Array, reduction: str, **values: Any) -> Array:
        return reduced(loss(*arrays, **values), reduction)

    op(
        name,
        operands,
        attrs={**(attrs or {}), "reduction": reductions},
        dtypes=TORCH,
        infer=loss_type,
        requires=same_shapes(*names),
        reference=widened(reference),
        torch=torch,
        mindspore=limited(CPU, mindspore) if mindspore else None,
        tolerance=tolerance,
        companions=lambda x, attrs: (
            companions(x) if companions else {"target": beside("target", x)}
        ),
        shapes=shapes,
        domain=domain,
        tags={"loss"},
        fixed=fixed,
    )


def usual(
    name: str, layer: str, *, operands: str = "x target", keywords: str = "", plain: bool = False
) -> dict[str, str | Form]:
    """MindSpore's function and module of a loss, with the same keywords."""
    given = ", ".join(f"{{{one}}}" for one in operands.split())
    words = f"{keywords}, reduction={{reduction}}" if keywords else "reduction={reduction}"
    forms: dict[str, str | Form] = {
        "function": f"ops.{name}({given}, {words})",
        "module": Form(f"nn.{layer}({words})({given})", source=f"mindspore.nn.{layer}: see {name}"),
    }
    if plain:
        forms["default"] = Form(
            f"ops.{name}({given})",
            when={"reduction": "mean"},
            source=default(f"mindspore.ops.{name}", "reduction='mean'"),
        )
    return forms


loss_row(
    "mse_loss",
    "MSELoss",
    lambda x, target: (x - target) ** 2,
    composed="({x} - {target}).square().mean()",
    mindspore=usual("mse_loss", "MSELoss", plain=True)
    | {
        "composed": Form(
            "ops.mean(ops.square({x} - {target}))",
            when={"reduction": "mean"},
            source="mindspore.ops.mse_loss: the mean of the squared differences",
        )
    },
)
loss_row(
    "l1_loss",
    "L1Loss",
    lambda x, target: np.abs(x - target),
    composed="({x} - {target}).abs().mean()",
    mindspore=usual("l1_loss", "L1Loss", plain=True)
    | {
        "composed": Form(
            "ops.mean(ops.abs({x} - {target}))",
            when={"reduction": "mean"},
            source="mindspore.ops.l1_loss: the mean of the absolute differences",
        )
    },
)


def huber(x: Array, target: Array, *, delta: float) -> Array:
    gap = np.abs(x - target)
    return np.where(gap <= delta, 0.5 * gap**2, delta * (gap - 0.5 * delta)).astype(x.dtype)


loss_row(
    "smooth_l1_loss",
    "SmoothL1Loss",
    lambda x, target, beta: huber(x, target, delta=beta) / x.dtype.type(beta),
    attrs={"beta": (1.0, 0.5)},
    mindspore=usual("smooth_l1_loss", "SmoothL1Loss", keywords="beta={beta}")
    | {
        "default": Form(
            "ops.smooth_l1_loss({x}, {target})",
            when={"beta": 1.0, "reduction": "none"},
            source=default("mindspore.ops.smooth_l1_loss", "beta=1.0, reduction='none'"),
        ),
        "primitive": Form(
            "ops.SmoothL1Loss({beta}, {reduction})({x}, {target})",
            source="mindspore.ops.SmoothL1Loss: refer to mindspore.ops.smooth_l1_loss",
        ),
    },
)
loss_row(
    "huber_loss",
    "HuberLoss",
    huber,
    attrs={"delta": (1.0, 0.5)},
    mindspore=usual("huber_loss", "HuberLoss", keywords="delta={delta}")
    | {
        "module": Form(
            "nn.HuberLoss(delta={delta}, reduction={reduction})({x}, {target})",
            dtypes=("float32",),
            source="mindspore.nn.HuberLoss: see huber_loss, of float16 or float32",
        ),
        "default": Form(
            "ops.huber_loss({x}, {target})",
            when={"delta": 1.0, "reduction": "mean"},
            source=default("mindspore.ops.huber_loss", "reduction='mean', delta=1.0"),
        ),
    },
)
loss_row(
    "binary_cross_entropy",
    "BCELoss",
    lambda x, target: -(target * np.log(x) + (1 - target) * np.log1p(-x)),
    companions=lambda x: {"target": probability("target", x.dtype, *static(x))},
    mindspore={
        name: Form(one.call, dtypes=("float32",), when=one.when, source=one.source)
        if isinstance(one, Form)
        else Form(one, dtypes=("float32",))
        for name, one in {
            **usual("binary_cross_entropy", "BCELoss", plain=True),
            "primitive": Form(
                "ops.BinaryCrossEntropy({reduction})({x}, {target}, ops.ones_like({x}))",
                source="mindspore.ops.BinaryCrossEntropy: see ops.binary_cross_entropy",
            ),
            "mint": Form(
                "mint.nn.functional.binary_cross_entropy({x}, {target}, None, {reduction})",
                source="mindspore.mint.nn.functional.binary_cross_entropy(input, target, weight)",
            ),
        }.items()
    },
    domain=(0.1, 0.9),
    tolerance=Tolerance.TRANSCENDENTAL,
)


def log1p_exp(x: Array) -> Array:
    found: Array = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return found


loss_row(
    "binary_cross_entropy_with_logits",
    "BCEWithLogitsLoss",
    lambda x, target: log1p_exp(x) - x * target,
    companions=lambda x: {"target": probability("target", x.dtype, *static(x))},
    mindspore={
        "function": Form(
            "ops.binary_cross_entropy_with_logits({x}, {target}, reduction={reduction})",
            dtypes=("float32",),
        ),
        "function_weights": Form(
            "ops.binary_cross_entropy_with_logits({x}, {target}, ops.ones_like({x}),"
            " ops.ones_like({x}), {reduction})",
            dtypes=("float32",),
            source=default("ops.binary_cross_entropy_with_logits", "weight=None, pos_weight=None"),
        ),
        "module": Form(
            "nn.BCEWithLogitsLoss({reduction})({x}, {target})",
            dtypes=("float32",),
            source="mindspore.nn.BCEWithLogitsLoss: see binary_cross_entropy_with_logits",
        ),
        "composed": Form(
            "ops.mean(ops.relu({x}) - {x} * {target} + ops.log1p(ops.exp(-ops.abs({x}))))",
            when={"reduction": "mean"},
            source="mindspore.nn.BCEWithLogitsLoss: -(y log p + (1 - y) log(1 - p))",
        ),
    },
    tolerance=Tolerance.TRANSCENDENTAL,
)
loss_row(
    "hinge_embedding_loss",
    "HingeEmbeddingLoss",
    lambda x, target, margin: np.where(target == 1, x, np.maximum(0, margin - x)).astype(x.dtype),
    attrs={"margin": (1.0, 0.5)},
    companions=lambda x: {"target": signs("target", x, *static(x))},
    mindspore=usual("hinge_embedding_loss", "HingeEmbeddingLoss", keywords="margin={margin}"),
)
loss_row(
    "soft_margin_loss",
    "SoftMarginLoss",
    lambda x, target: np.log1p(np.exp(-target * x)),
    fixed=("target",),
    companions=lambda x: {"target": signs("target", x, *static(x))},
    mindspore={
        "composed": Form(
            "ops.mean(ops.log1p(ops.exp(-{target} * {x})))", when={"reduction": "mean"}
        ),
        "composed_sum": Form(
            "ops.sum(ops.log1p(ops.exp(-{target} * {x})))", when={"reduction": "sum"}
        ),
        "composed_none": Form("ops.log1p(ops.exp(-{target} * {x}))", when={"reduction": "none"}),
    },
    tolerance=Tolerance.TRANSCENDENTAL,
)
loss_row(
    "margin_ranking_loss",
    "MarginRankingLoss",
    lambda x, y, target, margin: np.maximum(0, -target * (x - y) + margin).astype(x.dtype),
    operands="x y target",
    attrs={"margin": (0.0, 0.5)},
    companions=lambda x: {"y": beside("y", x), "target": signs("target", x, *static(x))},
    mindspore=usual(
        "margin_ranking_loss",
        "MarginRankingLoss",
        operands="x y target",
        keywords="margin={margin}",
    ),
)
loss_row(
    "gaussian_nll_loss",
    "GaussianNLLLoss",
    lambda x, target, var, full: (
        0.5 * (np.log(var) + (x - target) ** 2 / var)
        + (x.dtype.type(0.5 * np.log(2 * np.pi)) if full else x.dtype.type(0))
    ),
    operands="x target var",
    attrs={"full": (False, True)},
    companions=lambda x: {
        "target": beside("target", x),
        "var": positive("var", x.dtype, *static(x)),
    },
    mindspore=usual(
        "gaussian_nll_loss", "GaussianNLLLoss", operands="x target var", keywords="full={full}"
    ),
    tolerance=Tolerance.TRANSCENDENTAL,
)
loss_row(
    "poisson_nll_loss",
    "PoissonNLLLoss",
    lambda x, target, log_input: (
        np.exp(x) - target * x if log_input else x - target * np.log(x + x.dtype.type(1e-8))
    ),
    attrs={"log_input": (True, False)},
    companions=lambda x: {"target": positive("target", x.dtype, *static(x))},
    mindspore={
        "composed": Form(
            "ops.mean(ops.exp({x}) - {target} * {x})",
            when={"log_input": True, "reduction": "mean"},
        )
    },
    domain=(0.1, 2.0),
    tolerance=Tolerance.TRANSCENDENTAL,
)


# ----------------------------------------------------------------------------- distributions
def kl_div(x: Array, target: Array, *, log_target: bool, reduction: str) -> Array:
    terms = (
        np.exp(target) * (target - x)
        if log_target
        else np.where(target > 0, target * np.log(np.where(target > 0, target, 1)), 0) - target * x
    )
    terms = terms.astype(x.dtype)
    if reduction == "batchmean":
        found: Array = terms.sum() / x.dtype.type(x.shape[0])
        return found
    return reduced(terms, reduction)


op(
    "kl_div",
    "x target",
    attrs={"reduction": ("batchmean", *REDUCTIONS), "log_target": (False, True)},
    dtypes=TORCH,
    infer=loss_type,
    requires=lambda call: (
        *same_shapes("x", "target")(call),
        (call["x"].rank > 0, "a scalar has no batch"),
    ),
    reference=widened(
        lambda x, target, reduction, log_target: kl_div(
            x, target, log_target=log_target, reduction=reduction
        )
    ),
    torch={
        "function": "F.kl_div({x}, {target}, reduction={reduction}, log_target={log_target})",
        "module": Form(
            "nn.KLDivLoss(reduction={reduction}, log_target={log_target})({x}, {target})",
            source="torch.nn.KLDivLoss: see torch.nn.functional.kl_div",
        ),
        "composed": Form(
            "torch.sum({target} * ({target}.log() - {x})) / {x}.shape[0]",
            when={"reduction": "batchmean", "log_target": False},
            source="torch.nn.KLDivLoss: target * (target.log() - input), summed over the batch",
        ),
    },
    mindspore=limited(
        CPU,
        {
            "function": Form("ops.kl_div({x}, {target}, {reduction})", when={"log_target": False}),
            "module": Form(
                "nn.KLDivLoss({reduction})({x}, {target})",
                when={"log_target": False},
                source="mindspore.nn.KLDivLoss: see mindspore.ops.kl_div",
            ),
            "primitive": Form(
                "ops.KLDivLoss({reduction})({x}, {target})",
                when={"log_target": False},
                source="mindspore.ops.KLDivLoss: see mindspore.ops.kl_div",
            ),
            "default": Form(
                "ops.kl_div({x}, {target})",
                when={"log_target": False, "reduction": "mean"},
                source=default("mindspore.ops.kl_div", "reduction='mean'"),
            ),
            "composed_log": Form(
                "ops.sum(ops.exp({target}) * ({target} - {x})) / {x}.shape[0]",
                when={"log_target": True, "reduction": "batchmean"},
            ),
        },
    ),
    tolerance=Tolerance.TRANSCENDENTAL,
    companions=lambda x, attrs: {"target": probability("target", x.dtype, *static(x))},
    shapes=((3, 4), (2, 3, 4), (5,)),
    domain=(-3.0, -0.1),
    tags={"loss"},
)
