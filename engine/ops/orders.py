"""Values by their order along an axis: the k-th smallest, the commonest, the median of numbers."""

from __future__ import annotations

import numpy as np

from engine.ir.types import Dense
from engine.ops.families import Array
from engine.ops.rules import Requirement, axis, limited, mindspore_method, resized, static
from engine.ops.spec import Form, OpCall, Tolerance, op

DTYPES = ("float32", "float64", "int32", "int64")
SHAPES = ((2, 5, 4), (5,), (3, 4))


def along(call: OpCall) -> Dense:
    shape = static(call["x"])
    at = axis(call.integer("dim"), len(shape))
    return resized(call["x"], (*shape[:at], *shape[at + 1 :]))


def has_elements(call: OpCall) -> Requirement:
    shape = static(call["x"])
    yield bool(shape) and 0 not in shape, "there is no element along an axis"


def has_k(call: OpCall) -> Requirement:
    yield from has_elements(call)
    extent = static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    yield call.integer("k") <= extent, f"{extent} elements, fewer than k = {call.integer('k')}"


op(
    "kthvalue",
    "x",
    attrs={"k": (2, 1, 3), "dim": (-1, 0)},
    dtypes=DTYPES,
    infer=along,
    requires=has_k,
    reference=lambda x, k, dim: np.take(np.sort(x, axis=dim), k - 1, axis=dim),
    torch={
        "function": "torch.kthvalue({x}, {k}, {dim}).values",
        "method": Form("{x}.kthvalue({k}, {dim})[0]", source="torch.Tensor.kthvalue: see torch"),
        "keyword": Form(
            "torch.kthvalue(input={x}, k={k}, dim={dim}, keepdim=False)[0]",
            source="torch.kthvalue: names, keepdim=False",
        ),
        "composed": Form(
            "torch.sort({x}, {dim}).values.select({dim}, {k} - 1)",
            source="torch.kthvalue: the k-th smallest element of each row",
        ),
    },
    mindspore=limited(
        DTYPES,
        {
            "composed": Form(
                "ops.gather(ops.sort({x}, {dim})[0], Tensor({k} - 1, ms.int32), {dim})",
                api="ops.sort",
                dtypes=("float32", "int32", "int64"),  # ops.sort documents no float64
            ),
        },
    ),
    tolerance=Tolerance.EXACT,
    shapes=SHAPES,
    tags={"extreme", "reduction"},
    doc="The values alone: the places of equal ones are free.",
)


def middle(x: Array, dim: int) -> Array:
    """The lower of two middle values among the numbers; NaN sort behind them."""
    ordered = np.sort(x, axis=dim)
    numbers = np.sum(x == x, axis=dim, keepdims=True)  # NaN alone differs from itself
    places = np.maximum(numbers - 1, 0) // 2
    return np.squeeze(np.take_along_axis(ordered, places, axis=dim), axis=dim)


op(
    "nanmedian",
    "x",
    attrs={"dim": (-1, 0)},
    dtypes=DTYPES,
    infer=along,
    requires=has_elements,
    reference=middle,
    torch={
        "function": "torch.nanmedian({x}, {dim}).values",
        "method": Form("{x}.nanmedian({dim})[0]", source="torch.Tensor.nanmedian: see torch"),
        "composed": Form(
            "torch.median({x}, {dim}).values",
            source="torch.nanmedian: identical to torch.median() when there are no NaN values",
        ),
    },
    mindspore=limited(
        DTYPES,
        {
            "function": "ops.nanmedian({x}, {dim})[0]",
            "method": Form("{x}.nanmedian({dim})[0]", source=mindspore_method("nanmedian")),
            "keyword": Form(
                "ops.nanmedian(input={x}, axis={dim}, keepdims=False)[0]",
                source="mindspore.ops.nanmedian: names, keepdims=False",
            ),
        },
    ),
    tolerance=Tolerance.EXACT,
    shapes=SHAPES,
    tags={"extreme", "reduction"},
    doc="The lower median of what is not NaN; the values alone.",
)
