"""Products added to a matrix, distances between tensors and rows, norms held under a bound."""

from __future__ import annotations

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import Dense
from engine.ops.matrices import WIDE
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import (
    default,
    limited,
    mindspore_method,
    mindspore_primitive,
    resized,
    shape_of,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

ACCUMULATING = Tolerance.ACCUMULATING


def outer_type(call: OpCall) -> Dense:
    rows, columns = shape_of(call["x"], 2)
    if (rows,) != shape_of(call["u"], 1) or (columns,) != shape_of(call["v"], 1):
        raise ConstraintViolated(f"{call['u']} and {call['v']} for {rows} x {columns}")
    return resized(call["x"], (rows, columns))


op(
    "addr",
    "x u v",
    attrs={"beta": (1, 2), "alpha": (1, 3)},
    dtypes=("float32", "float64", "float16", "int64", "int32"),
    infer=outer_type,
    reference=lambda x, u, v, beta, alpha: np.asarray(beta * x + alpha * np.outer(u, v), x.dtype),
    torch={
        "function": "torch.addr({x}, {u}, {v}, beta={beta}, alpha={alpha})",
        "method": Form(
            "{x}.addr({u}, {v}, beta={beta}, alpha={alpha})", source=torch_method("addr")
        ),
        "default": Form(
            "torch.addr({x}, {u}, {v})",
            when={"beta": 1, "alpha": 1},
            source=default("torch.addr", "beta=1, alpha=1"),
        ),
        "inplace": Form(
            "{x}.clone().addr_({u}, {v}, beta={beta}, alpha={alpha})",
            source="torch.Tensor.addr_: in-place version of addr()",
        ),
        "composed": Form(
            "{beta} * {x} + {alpha} * torch.outer({u}, {v})",
            source="torch.addr: out = beta input + alpha (vec1 outer vec2)",
        ),
    },
    mindspore=limited(
        ("float32", "float64", "float16", "int64", "int32"),
        {
            "function": "ops.addr({x}, {u}, {v}, beta={beta}, alpha={alpha})",
            "method": Form(
                "{x}.addr({u}, {v}, beta={beta}, alpha={alpha})", source=mindspore_method("addr")
            ),
            "default": Form(
                "ops.addr({x}, {u}, {v})",
                when={"beta": 1, "alpha": 1},
                source=default("mindspore.ops.addr", "beta=1, alpha=1"),
            ),
            "composed": Form(
                "{beta} * {x} + {alpha} * ops.outer({u}, {v})",
                source="mindspore.ops.addr: output = beta x + alpha (vec1 outer vec2)",
            ),
        },
    ),
    companions=lambda x, attrs: (
        {
            "u": beside("u", resized(x, static(x)[:1]), 31),
            "v": beside("v", resized(x, static(x)[1:]), 32),
        }
        if x.rank == 2
        else {}
    ),
    tolerance=ACCUMULATING,
    shapes=((3, 4), (2, 1)),
    tags={"linear", "shape-preserving"},
)


def batches_type(call: OpCall) -> Dense:
    rows, columns = shape_of(call["x"], 2)
    (count, above, inner), (other, between, across) = (
        shape_of(call["u"], 3),
        shape_of(call["v"], 3),
    )
    if (count, above, inner, across) != (other, rows, between, columns):
        raise ConstraintViolated(f"{call['u']} times {call['v']} for {rows} x {columns}")
    return resized(call["x"], (rows, columns))


op(
    "addbmm",
    "x u v",
    attrs={"beta": (1, 2), "alpha": (1, 3)},
    dtypes=("float32", "float64", "float16"),
    infer=batches_type,
    reference=lambda x, u, v, beta, alpha: np.asarray(
        beta * x + alpha * np.matmul(u, v).sum(0), x.dtype
    ),
    torch={
        "function": "torch.addbmm({x}, {u}, {v}, beta={beta}, alpha={alpha})",
        "method": Form(
            "{x}.addbmm({u}, {v}, beta={beta}, alpha={alpha})", source=torch_method("addbmm")
        ),
        "inplace": Form(
            "{x}.clone().addbmm_({u}, {v}, beta={beta}, alpha={alpha})",
            source="torch.Tensor.addbmm_: in-place version of addbmm()",
        ),
        "composed": Form(
            "{beta} * {x} + {alpha} * torch.bmm({u}, {v}).sum(0)",
            source="torch.addbmm: out = beta input + alpha (sum of batch1_i @ batch2_i)",
        ),
    },
    mindspore=limited(
        ("float32", "float64", "float16"),
        {
            "function": "ops.addbmm({x}, {u}, {v}, beta={beta}, alpha={alpha})",
            "method": Form(
                "{x}.addbmm({u}, {v}, beta={beta}, alpha={alpha})",
                source=mindspore_method("addbmm"),
            ),
            "composed": Form(
                "{beta} * {x} + {alpha} * ops.bmm({u}, {v}).sum(0)",
                source="mindspore.ops.addbmm: output = beta input + alpha sum(batch1_i @ batch2_i)",
            ),
        },
    ),
    companions=lambda x, attrs: (
        {
            "u": beside("u", resized(x, (2, static(x)[0], 3)), 33),
            "v": beside("v", resized(x, (2, 3, static(x)[1])), 34),
        }
        if x.rank == 2
        else {}
    ),
    tolerance=ACCUMULATING,
    shapes=((3, 4), (2, 1)),
    tags={"linear", "shape-preserving"},
)


# -------------------------------------------------------------------------------------- distances
def scalar_type(call: OpCall) -> Dense:
    if call["x"].shape != call["y"].shape:
        raise ConstraintViolated(f"{call['x']} and {call['y']} differ in shape")
    return resized(call["x"], ())


def distance(x: Array, y: Array, p: float) -> Array:
    gap = np.abs(x - y)
    found = gap.max(initial=0) if np.isinf(p) else (gap**p).sum() ** (1 / p)
    return np.asarray(found, x.dtype)


def whole_power(call: OpCall) -> bool:
    """mindspore.ops.dist: "a type error will be raised if p is not an integer"."""
    return isinstance(call.attr("p"), int)


op(
    "dist",
    "x y",
    attrs={"p": (2, 1, 3.0)},
    dtypes=WIDE,
    infer=scalar_type,
    reference=distance,
    torch={
        "function": "torch.dist({x}, {y}, {p})",
        "method": Form("{x}.dist({y}, {p})", source=torch_method("dist")),
        "keyword": Form("torch.dist(input={x}, other={y}, p={p})", source="torch.dist: names"),
        "default": Form("torch.dist({x}, {y})", when={"p": 2}, source=default("torch.dist", "p=2")),
        "composed": Form(
            "torch.linalg.vector_norm({x} - {y}, {p})",
            source="torch.dist: the p-norm of (input - other)",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": Form("ops.dist({x}, {y}, {p})", when=whole_power),
            "keyword": Form(
                "ops.dist(input={x}, other={y}, p={p})",
                when=whole_power,
                source="mindspore.ops.dist: names",
            ),
            "default": Form(
                "ops.dist({x}, {y})", when={"p": 2}, source=default("mindspore.ops.dist", "p=2")
            ),
        },
    ),
    companions=lambda x, attrs: {"y": beside("y", x, 35)},
    tolerance=ACCUMULATING,
    shapes=((3, 4), (5,), (2, 2, 2)),
    tags={"distance", "reduction"},
)


def renormed(x: Array, p: int, dim: int, most: float) -> Array:
    over = tuple(at for at in range(x.ndim) if at != dim % x.ndim)
    norm = (np.abs(x.astype(np.float64)) ** p).sum(over, keepdims=True) ** (1 / p)
    return np.asarray(np.where(norm > most, x * (most / (norm + 1e-7)), x), x.dtype)


op(
    "renorm",
    "x",
    attrs={"p": (2, 1), "dim": (0, 1, -1), "most": (1.0, 3.0)},
    dtypes=("float32",),
    infer=lambda call: resized(call["x"], static(call["x"])),
    requires=lambda call: (
        (call["x"].rank >= 2, "the input has fewer than two axes"),
        (-call["x"].rank <= call.integer("dim") < call["x"].rank, "the axis does not exist"),
    ),
    reference=renormed,
    torch={
        "function": "torch.renorm({x}, {p}, {dim}, {most})",
        "method": Form("{x}.renorm({p}, {dim}, {most})", source=torch_method("renorm")),
        "keyword": Form(
            "torch.renorm(input={x}, p={p}, dim={dim}, maxnorm={most})",
            source="torch.renorm: names",
        ),
        "inplace": Form(
            "{x}.clone().renorm_({p}, {dim}, {most})",
            source="torch.Tensor.renorm_: in-place version of renorm()",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": "ops.renorm({x}, {p}, {dim}, {most})",
            "method": Form("{x}.renorm({p}, {dim}, {most})", source=mindspore_method("renorm")),
            "primitive": Form(
                "ops.Renorm({p}, {dim}, {most})({x})",
                source=mindspore_primitive("Renorm", "renorm"),
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((3, 4), (2, 3, 2)),
    tags={"normalisation", "shape-preserving"},
    doc="In float32 alone: PyTorch divides by the norm + 1e-7, MindSpore by the norm.",
)


def pairs_type(call: OpCall) -> Dense:
    rows, columns = shape_of(call["x"], 2)
    if rows < 2 or columns < 1:
        raise ConstraintViolated(f"{rows} x {columns} has no pair of rows")
    return resized(call["x"], (rows * (rows - 1) // 2,))


def pairwise(x: Array, p: float) -> Array:
    first, second = np.triu_indices(len(x), 1)
    return np.asarray((np.abs(x[first] - x[second]) ** p).sum(-1) ** (1 / p), x.dtype)


op(
    "pdist",
    "x",
    attrs={"p": (2.0, 1.0, 3.0)},
    dtypes=WIDE,
    infer=pairs_type,
    reference=pairwise,
    torch={
        "function": "F.pdist({x}, {p})",
        "function_torch": Form("torch.pdist({x}, {p})", source="torch.pdist: F.pdist"),
        "default": Form(
            "F.pdist({x})", when={"p": 2.0}, source=default("torch.nn.functional.pdist", "p=2")
        ),
        "composed": Form(
            "torch.linalg.norm({x}[:, None] - {x}, dim=2, ord={p})"
            "[tuple(torch.triu_indices({x}.shape[0], {x}.shape[0], 1))]",
            source="torch.nn.functional.pdist: the upper triangle of"
            " torch.norm(input[:, None] - input, dim=2, p=p)",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.pdist({x}, {p})",
            "primitive": Form("ops.Pdist({p})({x})", source=mindspore_primitive("Pdist", "pdist")),
            "default": Form(
                "ops.pdist({x})", when={"p": 2.0}, source=default("mindspore.ops.pdist", "p=2.0")
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((4, 3), (2, 1)),
    tags={"distance"},
)
