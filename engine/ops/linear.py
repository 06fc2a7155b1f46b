"""Products of matrices and vectors, and linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import FLOATS, Dense
from engine.ops.numeric import Array, widened
from engine.ops.operands import beside, weight
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    NUMBERS,
    Requirement,
    broadcast,
    default,
    has,
    lacks,
    limited,
    mindspore_method,
    resized,
    shape_of,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

ACCUMULATING = Tolerance.ACCUMULATING
PRODUCTS = ("float32", "float16", "float64", "int32", "int64")
"""What MindSpore's matrix products take on CPU."""


def same(name: str, given: Dense, *shape: int) -> Input:
    return beside(name, resized(given, shape))


# ------------------------------------------------------------------------------------- linear
def linear_fits(call: OpCall) -> Requirement:
    yield call["x"].rank >= 1, "the input is a scalar"
    yield call["w"].rank == 2, "the weight is not a matrix"
    if call["x"].rank >= 1 and call["w"].rank == 2:
        have, want = static(call["x"])[-1], static(call["w"])[1]
        yield have == want, f"the input has {have} features, the weight takes {want}"
        if call.has("b"):
            yield static(call["b"]) == static(call["w"])[:1], "the bias does not fit the weight"


op(
    "linear",
    "x w b?",
    dtypes=NUMBERS,
    infer=lambda call: resized(call["x"], (*static(call["x"])[:-1], static(call["w"])[0])),
    requires=linear_fits,
    reference=widened(lambda x, w, b: x @ w.T if b is None else x @ w.T + b),
    torch={
        "function": "F.linear({x}, {w}, {b})",
        "module": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.Linear({w}.shape[1], {w}.shape[0])",
                "{self}.weight = nn.Parameter({w})",
                "{self}.bias = nn.Parameter({b})",
            ),
            when=has("b"),
            dtypes=FLOATS,
            source="torch.nn.Linear: y = x A^T + b, weight of shape (out_features, in_features)",
        ),
        "module_nobias": Form(
            "{self}({x})",
            setup=(
                "{self} = nn.Linear({w}.shape[1], {w}.shape[0], bias=False)",
                "{self}.weight = nn.Parameter({w})",
            ),
            when=lacks("b"),
            dtypes=FLOATS,
            source="torch.nn.Linear: with bias=False the layer learns no additive bias",
        ),
        "keyword": Form("F.linear(input={x}, weight={w}, bias={b})", source="F.linear"),
        "default": Form("F.linear({x}, {w})", when=lacks("b"), source="F.linear: bias=None"),
        "operator": Form(
            "{x} @ {w}.T + {b}", when=has("b"), source="torch.nn.functional.linear: y = x A^T + b"
        ),
        "operator_nobias": Form(
            "{x} @ {w}.T", when=lacks("b"), source="torch.nn.functional.linear: y = x A^T + b"
        ),
        "composed": Form(
            "torch.addmm({b}, {x}, {w}.t())",
            when=lambda call: call.has("b") and call["x"].rank == 2,
            source="torch.addmm: out = beta * input + alpha * (mat1 @ mat2)",
        ),
    },
    mindspore={
        "mint": Form("mint.nn.functional.linear({x}, {w}, {b})", dtypes=PRODUCTS),
        "function": Form(
            "ops.dense({x}, {w}, {b})",
            dtypes=PRODUCTS,
            source="mindspore.ops.dense: output = input * weight^T + bias",
        ),
        "module": Form(
            "{self}({x})",
            setup=(
                (
                    "{self} = nn.Dense({w}.shape[1], {w}.shape[0], weight_init={w},"
                    " bias_init={b}, dtype={w}.dtype)"
                ),
            ),
            when=has("b"),
            dtypes=MINDSPORE_FLOATS,
            source="mindspore.nn.Dense: output = X * W^T + bias",
        ),
        "module_nobias": Form(
            "{self}({x})",
            setup=(
                (
                    "{self} = nn.Dense({w}.shape[1], {w}.shape[0], weight_init={w},"
                    " has_bias=False, dtype={w}.dtype)"
                ),
            ),
            when=lacks("b"),
            dtypes=MINDSPORE_FLOATS,
            source="mindspore.nn.Dense: has_bias specifies whether the layer uses a bias",
        ),
        "mint_module": Form(
            "{self}({x})",
            setup=(
                (
                    "{self} = mint.nn.Linear({w}.shape[1], {w}.shape[0], weight_init={w},"
                    " bias_init={b}, dtype={w}.dtype)"
                ),
            ),
            when=has("b"),
            dtypes=MINDSPORE_FLOATS,
            source="mindspore.mint.nn.Linear: output = X * W^T + bias",
        ),
        "operator": Form(
            "{x} @ {w}.T + {b}",
            when=has("b"),
            dtypes=PRODUCTS,
            source="mindspore.ops.dense: output = input * weight^T + bias",
        ),
        "operator_nobias": Form(
            "{x} @ {w}.T",
            when=lacks("b"),
            dtypes=PRODUCTS,
            source="mindspore.ops.dense: output = input * weight^T + bias",
        ),
        "primitive": Form(
            "ops.MatMul(transpose_b=True)({x}, {w})",
            when=lambda call: not call.has("b") and call["x"].rank == 2,
            dtypes=PRODUCTS,
            source="mindspore.ops.MatMul: transpose_b transposes the second operand first",
        ),
        "primitive_bias": Form(
            "ops.BiasAdd()(ops.MatMul(transpose_b=True)({x}, {w}), {b})",
            when=lambda call: call.has("b") and call["x"].rank == 2,
            dtypes=("float32", "float16"),
            source="mindspore.ops.BiasAdd: the sum of the input and the bias",
        ),
    },
    tolerance=ACCUMULATING,
    companions=lambda x, attrs: {
        "w": weight("w", x.dtype, 5, static(x)[-1] if x.rank else 1),
        "b": weight("b", x.dtype, 5, seed=29),
    },
    shapes=((2, 3, 4), (3, 4), (4,), (2, 1), (0, 4)),
    tags={"linear"},
)


# ----------------------------------------------------------------------------------- products
def matmul_type(call: OpCall) -> Dense:
    a, b = static(call["x"]), static(call["y"])
    if not a or not b:
        raise ConstraintViolated("matmul: an operand is a scalar")
    left, right = ((1, *a) if len(a) == 1 else a), ((*b, 1) if len(b) == 1 else b)
    if left[-1] != right[-2]:
        raise ConstraintViolated(f"matmul: {a} and {b} do not share an inner extent")
    shape = (*broadcast(left[:-2], right[:-2]), left[-2], right[-1])
    if len(a) == 1:
        shape = (*shape[:-2], shape[-1])
    if len(b) == 1:
        shape = shape[:-1]
    return resized(call["x"], shape)


def matmul_companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    shape = static(x)
    if not shape:
        raise ConstraintViolated("matmul: an operand is a scalar")
    return {"y": same("y", x, *shape[:-2], shape[-1], 3)}


op(
    "matmul",
    "x y",
    dtypes=NUMBERS,
    infer=matmul_type,
    reference=widened(lambda x, y: np.matmul(x, y)),
    torch={
        "function": "torch.matmul({x}, {y})",
        "operator": Form("{x} @ {y}", source="torch.Tensor.__matmul__: see torch.matmul()"),
        "method": Form("{x}.matmul({y})", source=torch_method("matmul")),
        "keyword": Form("torch.matmul(input={x}, other={y})", source="torch.matmul"),
        "composed": Form(
            "torch.mm({x}, {y})",
            when=lambda call: call["x"].rank == call["y"].rank == 2,
            source="torch.matmul: if both are 2-dimensional the matrix-matrix product",
        ),
        "composed_linalg": Form(
            "torch.linalg.matmul({x}, {y})", source="torch.linalg.matmul: alias for torch.matmul"
        ),
    },
    mindspore={
        "function": Form("ops.matmul({x}, {y})", dtypes=PRODUCTS),
        "operator": Form(
            "{x} @ {y}", dtypes=PRODUCTS, source="mindspore.Tensor: the operator @ is ops.matmul"
        ),
        "method": Form("{x}.matmul({y})", dtypes=PRODUCTS, source=mindspore_method("matmul")),
        "mint": Form(
            "mint.matmul({x}, {y})",
            dtypes=PRODUCTS,
            source="mindspore.mint.matmul: the matrix product of two tensors",
        ),
        "primitive": Form(
            "ops.MatMul()({x}, {y})",
            when=lambda call: call["x"].rank == call["y"].rank == 2,
            dtypes=PRODUCTS,
            source="mindspore.ops.MatMul: multiplies matrix a and matrix b",
        ),
        "primitive_batch": Form(
            "ops.BatchMatMul()({x}, {y})",
            when=lambda call: (
                call["x"].rank == call["y"].rank == 3
                and static(call["x"])[0] == static(call["y"])[0]
            ),
            dtypes=PRODUCTS,
            source="mindspore.ops.BatchMatMul: matrix multiplication in batches",
        ),
        "keyword": Form("ops.matmul(input={x}, other={y})", dtypes=PRODUCTS, source="ops.matmul"),
    },
    tolerance=ACCUMULATING,
    companions=matmul_companions,
    shapes=((2, 3, 4), (3, 4), (4,), (2, 2, 3, 4), (1, 4), (2, 1, 1)),
    tags={"linear", "product"},
)


def bmm_type(call: OpCall) -> Dense:
    a, b = shape_of(call["x"], 3), shape_of(call["y"], 3)
    if a[0] != b[0] or a[2] != b[1]:
        raise ConstraintViolated(f"batches of matrices {a} and {b} do not fit")
    return resized(call["x"], (*a[:2], b[2]))


def bmm_companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    batch, _, inner = shape_of(x, 3)
    return {"y": same("y", x, batch, inner, 3)}


op(
    "bmm",
    "x y",
    dtypes=NUMBERS,
    infer=bmm_type,
    reference=widened(lambda x, y: np.matmul(x, y)),
    torch={
        "function": "torch.bmm({x}, {y})",
        "method": Form("{x}.bmm({y})", source=torch_method("bmm")),
        "keyword": Form("torch.bmm({x}, mat2={y})", source="torch.bmm"),
        "operator": Form("{x} @ {y}", source="torch.bmm: see torch.matmul() for broadcasting"),
    },
    mindspore=limited(
        PRODUCTS,
        {
            "function": "ops.bmm({x}, {y})",
            "method": Form("{x}.bmm({y})", source=mindspore_method("bmm")),
            "mint": Form(
                "mint.bmm({x}, {y})",
                source="mindspore.mint.bmm: batch matrix-matrix multiplication",
            ),
            "primitive": Form(
                "ops.BatchMatMul()({x}, {y})",
                source="mindspore.ops.BatchMatMul: matrix multiplication in batches",
            ),
            "primitive_transposed": Form(
                "ops.BatchMatMul(transpose_b=True)({x}, {y}.swapaxes(1, 2))",
                source="mindspore.ops.BatchMatMul: transpose_b transposes the last axes first",
            ),
            "operator": Form("{x} @ {y}", source="mindspore.ops.bmm: batches of matmul"),
        },
    ),
    tolerance=ACCUMULATING,
    companions=bmm_companions,
    shapes=((2, 3, 4), (2, 1, 4), (1, 1, 1)),
    tags={"linear", "product"},
)


# ------------------------------------------------------------------------ scaled and added to
def added_type(rank: int) -> Callable[[OpCall], Dense]:
    """Type of beta * x + alpha * (a @ b) with matrices (rank 2), batches (3) or a vector (1)."""

    def infer(call: OpCall) -> Dense:
        a = shape_of(call["a"], max(rank, 2))
        b = shape_of(call["b"], rank)
        if a[-1] != b[0 if rank == 1 else -2] or (rank == 3 and a[0] != b[0]):
            raise ConstraintViolated(f"{a} and {b} do not fit")
        shape = a[:1] if rank == 1 else (*a[:-1], b[-1])
        if broadcast(static(call["x"]), shape) != shape:
            raise ConstraintViolated(f"the added {call['x']} does not fit {shape}")
        return resized(call["x"], shape)

    return infer


def added_companions(rank: int) -> Callable[[Dense, Mapping[str, Attr]], dict[str, Input]]:
    def companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
        shape = shape_of(x, rank)
        if rank == 1:
            return {"a": same("a", x, shape[0], 3), "b": same("b", x, 3)}
        lead = shape[:-2]
        return {
            "a": same("a", x, *lead, shape[-2], 3),
            "b": beside("b", resized(x, (*lead, 3, shape[-1])), 31),
        }

    return companions


SCALES: Mapping[str, tuple[Attr, ...]] = {"beta": (1, 2, 0), "alpha": (1, 3)}
PLAIN: Mapping[str, Attr] = {"beta": 1, "alpha": 1}


def added(x: Array, a: Array, b: Array, *, beta: int, alpha: int) -> Array:
    scaled: Array = alpha * np.matmul(a, b)
    if beta == 0:
        return scaled.astype(x.dtype)
    return (beta * x + scaled).astype(x.dtype)


def added_row(name: str, rank: int, shapes: tuple[tuple[int, ...], ...], names: str) -> None:
    """A row beta * x + alpha * (a @ b); `names` are the keywords of a and b."""
    first, second = names.split()
    op(
        name,
        "x a b",
        attrs=SCALES,
        dtypes=NUMBERS,
        infer=added_type(rank),
        reference=widened(lambda x, a, b, beta, alpha: added(x, a, b, beta=beta, alpha=alpha)),
        torch={
            "function": f"torch.{name}({{x}}, {{a}}, {{b}}, beta={{beta}}, alpha={{alpha}})",
            "method": Form(
                f"{{x}}.{name}({{a}}, {{b}}, beta={{beta}}, alpha={{alpha}})",
                source=torch_method(name),
            ),
            "default": Form(
                f"torch.{name}({{x}}, {{a}}, {{b}})",
                when=PLAIN,
                source=default(f"torch.{name}", "beta=1, alpha=1"),
            ),
            "keyword": Form(
                f"torch.{name}(input={{x}}, {first}={{a}}, {second}={{b}}, beta={{beta}},"
                " alpha={alpha})",
                source=f"torch.{name}",
            ),
            "composed": Form(
                "{beta} * {x} + {alpha} * ({a} @ {b})",
                when=lambda call: call.attr("beta") != 0,
                source=f"torch.{name}: beta * input + alpha * (mat1 @ mat2)",
            ),
            "inplace": Form(
                "{x}.clone()." + name + "_({a}, {b}, beta={beta}, alpha={alpha})",
                when=lambda call: static(call["x"]) == added_type(rank)(call).extents,
                source=f"torch.Tensor.{name}_: in-place version of {name}",
            ),
        },
        mindspore=limited(
            PRODUCTS,
            {
                "function": f"ops.{name}({{x}}, {{a}}, {{b}}, beta={{beta}}, alpha={{alpha}})",
                "method": Form(
                    f"{{x}}.{name}({{a}}, {{b}}, beta={{beta}}, alpha={{alpha}})",
                    source=mindspore_method(name),
                ),
                "default": Form(
                    f"ops.{name}({{x}}, {{a}}, {{b}})",
                    when=PLAIN,
                    source=default(f"mindspore.ops.{name}", "beta=1, alpha=1"),
                ),
                "composed": Form(
                    "{beta} * {x} + {alpha} * ({a} @ {b})",
                    when=lambda call: call.attr("beta") != 0,
                    source=f"mindspore.ops.{name}: beta * input + alpha * (mat1 @ mat2)",
                ),
            },
        ),
        tolerance=ACCUMULATING,
        companions=added_companions(rank),
        shapes=shapes,
        tags={"linear", "shape-preserving"},
    )


added_row("addmm", 2, ((2, 4), (1, 3)), "mat1 mat2")
added_row("addmv", 1, ((4,), (1,)), "mat vec")
added_row("baddbmm", 3, ((2, 3, 4), (1, 1, 2)), "batch1 batch2")
