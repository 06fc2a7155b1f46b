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
    axis,
    broadcast,
    default,
    has,
    lacks,
    limited,
    mindspore_method,
    product,
    resized,
    same_as_first,
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


# ------------------------------------------------------------------------------------- einsum
def einsum_extents(call: OpCall) -> tuple[dict[str, int], str]:
    """Extents by letter and the letters of the result."""
    equation = str(call.attr("equation"))
    left, _, result = equation.partition("->")
    extents: dict[str, int] = {}
    for letters, given in zip(left.split(","), (call["x"], call["y"]), strict=True):
        for letter, extent in zip(letters, shape_of(given, len(letters)), strict=True):
            if extents.setdefault(letter, extent) != extent:
                raise ConstraintViolated(f"einsum {equation}: {letter} is {extents[letter]}")
    return extents, result


def einsum_type(call: OpCall) -> Dense:
    extents, result = einsum_extents(call)
    return resized(call["x"], (extents[letter] for letter in result))


def einsum_companions(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    left, _, _ = str(attrs["equation"]).partition("->")
    first, second = left.split(",")
    extents = dict(zip(first, shape_of(x, len(first)), strict=True))
    return {"y": same("y", x, *(extents.get(letter, 3) for letter in second))}


def equation_is(equation: str) -> Callable[[OpCall], bool]:
    return lambda call: call.attr("equation") == equation


op(
    "einsum",
    "x y",
    attrs={"equation": ("bij,bjk->bik", "ij,kj->ik", "bhid,bhjd->bhij", "ij,ij->i", "i,j->ij")},
    dtypes=NUMBERS,
    infer=einsum_type,
    reference=widened(lambda x, y, equation: np.einsum(equation, x, y)),
    torch={
        "function": "torch.einsum({equation}, {x}, {y})",
        "function_list": Form(
            "torch.einsum({equation}, [{x}, {y}])",
            source="torch.einsum: the operands may be given as a list",
        ),
        "composed": Form(
            "torch.bmm({x}, {y})",
            when=equation_is("bij,bjk->bik"),
            source="torch.einsum: batch matrix multiplication 'bij,bjk->bik'",
        ),
        "composed_scores": Form(
            "{x} @ {y}.transpose(-1, -2)",
            when=equation_is("bhid,bhjd->bhij"),
            source="torch.einsum: a product summed over the shared letter",
        ),
    },
    mindspore=limited(
        PRODUCTS,
        {
            "composed": Form("ops.matmul({x}, {y})", when=equation_is("bij,bjk->bik")),
            "composed_transposed": Form(
                "ops.matmul({x}, {y}.swapaxes(-1, -2))",
                when=lambda call: call.attr("equation") in ("ij,kj->ik", "bhid,bhjd->bhij"),
            ),
            "composed_rows": Form(
                "ops.sum({x} * {y}, 1).astype({x}.dtype)", when=equation_is("ij,ij->i")
            ),
            "composed_outer": Form("ops.outer({x}, {y})", when=equation_is("i,j->ij")),
        },
    ),
    tolerance=ACCUMULATING,
    companions=einsum_companions,
    shapes=((2, 3, 4), (3, 4), (2, 2, 3, 4), (3,)),
    tags={"linear", "product"},
)


# ------------------------------------------------------------------------------------ vectors
def outer_type(call: OpCall) -> Dense:
    return resized(call["x"], (*shape_of(call["x"], 1), *shape_of(call["y"], 1)))


op(
    "outer",
    "x y",
    dtypes=NUMBERS,
    infer=outer_type,
    reference=np.outer,
    torch={
        "function": "torch.outer({x}, {y})",
        "method": Form("{x}.outer({y})", source=torch_method("outer")),
        "function_ger": Form("torch.ger({x}, {y})", source="torch.ger: alias of torch.outer()"),
        "keyword": Form("torch.outer({x}, vec2={y})", source="torch.outer"),
        "composed": Form("{x}[:, None] * {y}", source="torch.outer: outer product of vectors"),
    },
    mindspore=limited(
        PRODUCTS,
        {
            "function": "ops.outer({x}, {y})",
            "method": Form("{x}.outer({y})", source=mindspore_method("outer")),
            "function_ger": Form(
                "ops.ger({x}, {y})",
                dtypes=MINDSPORE_FLOATS,
                source="mindspore.ops.ger: outer product of two one-dimensional tensors",
            ),
            "composed": Form(
                "{x}[:, None] * {y}", source="mindspore.ops.outer: outer product of vectors"
            ),
        },
    ),
    companions=lambda x, attrs: {"y": same("y", x, 3)},
    shapes=((4,), (1,), (0,)),
    tags={"linear"},
)


def dot_type(call: OpCall) -> Dense:
    if shape_of(call["x"], 1) != shape_of(call["y"], 1):
        raise ConstraintViolated("dot: the vectors have different lengths")
    return resized(call["x"], ())


op(
    "dot",
    "x y",
    dtypes=NUMBERS,
    infer=dot_type,
    reference=widened(lambda x, y: np.dot(x, y)),
    torch={
        "function": "torch.dot({x}, {y})",
        "method": Form("{x}.dot({y})", source=torch_method("dot")),
        "operator": Form(
            "{x} @ {y}", source="torch.matmul: if both are 1-dimensional the dot product"
        ),
        "function_inner": Form(
            "torch.inner({x}, {y})", source="torch.inner: the dot product for 1D tensors"
        ),
        "function_vdot": Form(
            "torch.vdot({x}, {y})", source="torch.vdot: the dot product, conjugate where complex"
        ),
        "composed": Form("torch.sum({x} * {y}, dtype={x}.dtype)", source="torch.dot"),
    },
    mindspore=limited(
        PRODUCTS,
        {
            "function": "ops.tensor_dot({x}, {y}, 1)",
            "operator": Form("{x} @ {y}", source="mindspore.ops.matmul: 1-D inputs give the dot"),
            "function_inner": Form(
                "ops.inner({x}, {y})", source="mindspore.ops.inner: for 1D tensors the dot product"
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=lambda x, attrs: {"y": same("y", x, *shape_of(x, 1))},
    shapes=((4,), (1,), (33,)),
    tags={"linear"},
)


def mv_type(call: OpCall) -> Dense:
    a, b = shape_of(call["x"], 2), shape_of(call["y"], 1)
    if a[1] != b[0]:
        raise ConstraintViolated(f"mv: {a} and {b} do not fit")
    return resized(call["x"], a[:1])


op(
    "mv",
    "x y",
    dtypes=NUMBERS,
    infer=mv_type,
    reference=widened(lambda x, y: np.matmul(x, y)),
    torch={
        "function": "torch.mv({x}, {y})",
        "method": Form("{x}.mv({y})", source=torch_method("mv")),
        "operator": Form(
            "{x} @ {y}", source="torch.matmul: matrix and vector give the matrix-vector product"
        ),
        "keyword": Form("torch.mv({x}, vec={y})", source="torch.mv"),
    },
    mindspore=limited(
        PRODUCTS,
        {
            "function": "ops.mv({x}, {y})",
            "operator": Form("{x} @ {y}", source="mindspore.ops.matmul: matrix and vector"),
            "keyword": Form("ops.mv(mat={x}, vec={y})", source="mindspore.ops.mv(mat, vec)"),
        },
    ),
    tolerance=ACCUMULATING,
    companions=lambda x, attrs: {"y": same("y", x, shape_of(x, 2)[1])},
    shapes=((3, 4), (1, 4), (2, 1)),
    tags={"linear"},
)


def inner_type(call: OpCall) -> Dense:
    a, b = static(call["x"]), static(call["y"])
    if not a or not b or a[-1] != b[-1]:
        raise ConstraintViolated(f"inner: {a} and {b} do not share a last extent")
    return resized(call["x"], (*a[:-1], *b[:-1]))


op(
    "inner",
    "x y",
    dtypes=NUMBERS,
    infer=inner_type,
    reference=widened(lambda x, y: np.inner(x, y)),
    torch={
        "function": "torch.inner({x}, {y})",
        "method": Form("{x}.inner({y})", source=torch_method("inner")),
        "composed": Form(
            "torch.tensordot({x}, {y}, dims=([-1], [-1]))",
            source="torch.inner: equivalent to tensordot over the last dimensions",
        ),
    },
    mindspore=limited(
        PRODUCTS,
        {
            "function": "ops.inner({x}, {y})",
            "method": Form("{x}.inner({y})", source=mindspore_method("inner")),
            "composed": Form(
                "ops.tensor_dot({x}, {y}, ((-1,), (-1,)))",
                source="mindspore.ops.inner: a sum product over the last dimension",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=lambda x, attrs: {"y": same("y", x, 3, *static(x)[-1:])},
    shapes=((2, 4), (4,), (2, 2, 3)),
    tags={"linear"},
)


def kron_type(call: OpCall) -> Dense:
    a, b = static(call["x"]), static(call["y"])
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return resized(call["x"], (one * two for one, two in pairs))


op(
    "kron",
    "x y",
    dtypes=NUMBERS,
    infer=kron_type,
    reference=np.kron,
    torch={
        "function": "torch.kron({x}, {y})",
        "method": Form("{x}.kron({y})", source=torch_method("kron")),
    },
    mindspore=limited(PRODUCTS, {"function": "ops.kron({x}, {y})"}),
    companions=lambda x, attrs: {"y": same("y", x, 2, 3)},
    shapes=((3, 2), (2,), (1, 1)),
    tags={"linear"},
)


# ------------------------------------------------------------------------------------- traces
op(
    "trace",
    "x",
    dtypes=("float32", "float64", "float16"),
    infer=lambda call: resized(call["x"], shape_of(call["x"], 2)[:0]),
    reference=widened(lambda x: np.trace(x)),
    torch={
        "function": "torch.trace({x})",
        "method": Form("{x}.trace()", source=torch_method("trace")),
        "composed": Form(
            "torch.diagonal({x}).sum()", source="torch.trace: sum of the diagonal elements"
        ),
    },
    mindspore=limited(
        MINDSPORE_FLOATS,
        {
            "function": "ops.trace({x})",
            "method": Form(
                "{x}.trace()", source="mindspore.Tensor.trace: sum along the main diagonal"
            ),
            "primitive": Form("ops.Trace()({x})", source="mindspore.ops.Trace: refer to ops.trace"),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((3, 4), (3, 3), (1, 2)),
    tags={"linear"},
)


# ------------------------------------------------------------------------- matrices and systems
def square(call: OpCall) -> tuple[int, ...]:
    shape = static(call["x"])
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ConstraintViolated(f"{shape} is not a square matrix")
    return shape


def square_type(call: OpCall) -> Dense:
    return resized(call["x"], square(call))


def gram(x: Array) -> Array:
    """x x^T + 1: positive definite and well conditioned for every moderate x."""
    found: Array = x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1], dtype=x.dtype)
    return found


WIDE = ("float32", "float64")
SQUARES = ((3, 3), (2, 2, 2), (1, 1))

op(
    "det",
    "x",
    dtypes=WIDE,
    infer=lambda call: resized(call["x"], square(call)[:-2]),
    reference=np.linalg.det,
    torch={
        "function": "torch.det({x})",
        "method": Form("{x}.det()", source=torch_method("det")),
        "function_linalg": Form(
            "torch.linalg.det({x})", source="torch.det: alias for torch.linalg.det()"
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.det({x})",
            "method": Form("{x}.det()", source=mindspore_method("det")),
            "primitive": Form(
                "ops.MatrixDeterminant()({x})",
                source="mindspore.ops.MatrixDeterminant: determinant of square matrices",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=SQUARES,
    tags={"linear", "decomposition"},
)

op(
    "logdet",
    "x",
    dtypes=WIDE,
    infer=lambda call: resized(call["x"], square(call)[:-2]),
    reference=lambda x: np.linalg.slogdet(gram(x))[1],
    torch={
        "function": "torch.logdet({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype))",
        "function_slogdet": Form(
            "torch.slogdet({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype))[1]",
            source="torch.slogdet: the natural log of the absolute value of the determinant",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.logdet(ops.matmul({x}, {x}.swapaxes(-1, -2))"
            " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype))",
            "function_slogdet": Form(
                "ops.slogdet(ops.matmul({x}, {x}.swapaxes(-1, -2))"
                " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype))[1]",
                source="mindspore.ops.slogdet: sign and log of the absolute determinant",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=SQUARES,
    tags={"linear", "decomposition"},
    doc="Of x x^T + 1, whose determinant is at least 1 for every x.",
)

op(
    "inverse",
    "x",
    dtypes=WIDE,
    infer=square_type,
    reference=lambda x: np.linalg.inv(gram(x)),
    torch={
        "function": "torch.inverse({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype))",
        "method": Form(
            "({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype)).inverse()",
            source=torch_method("inverse"),
        ),
        "function_linalg": Form(
            "torch.linalg.inv({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype))",
            source="torch.inverse: alias for torch.linalg.inv()",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.inverse(ops.matmul({x}, {x}.swapaxes(-1, -2))"
            " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype))",
            "method": Form(
                "(ops.matmul({x}, {x}.swapaxes(-1, -2))"
                " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype)).inverse()",
                source="mindspore.Tensor.inverse: compute the inverse of the input matrix",
            ),
            "primitive": Form(
                "ops.MatrixInverse()(ops.matmul({x}, {x}.swapaxes(-1, -2))"
                " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype))",
                source="mindspore.ops.MatrixInverse: the inverse of the input matrix",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=SQUARES,
    tags={"linear", "decomposition", "shape-preserving"},
    doc="Of x x^T + 1, which is well conditioned for every moderate x.",
)


def cholesky(x: Array, *, upper: bool) -> Array:
    lower = np.linalg.cholesky(gram(x))
    found: Array = np.swapaxes(lower, -1, -2) if upper else lower
    return found


op(
    "cholesky",
    "x",
    attrs={"upper": (False, True)},
    dtypes=WIDE,
    infer=square_type,
    reference=lambda x, upper: cholesky(x, upper=upper),
    torch={
        "function": "torch.linalg.cholesky({x} @ {x}.mT"
        " + torch.eye({x}.shape[-1], dtype={x}.dtype), upper={upper})",
        "default": Form(
            "torch.linalg.cholesky({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype))",
            when={"upper": False},
            source=default("torch.linalg.cholesky", "upper=False"),
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.cholesky(ops.matmul({x}, {x}.swapaxes(-1, -2))"
            " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype), {upper})",
            "method": Form(
                "(ops.matmul({x}, {x}.swapaxes(-1, -2))"
                " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype)).cholesky({upper})",
                source=mindspore_method("cholesky"),
            ),
            "primitive": Form(
                "ops.Cholesky(upper={upper})(ops.matmul({x}, {x}.swapaxes(-1, -2))"
                " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype))",
                source="mindspore.ops.Cholesky(upper=False): refer to ops.cholesky",
            ),
            "default": Form(
                "ops.cholesky(ops.matmul({x}, {x}.swapaxes(-1, -2))"
                " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype))",
                when={"upper": False},
                source=default("mindspore.ops.cholesky", "upper=False"),
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=SQUARES,
    tags={"linear", "decomposition", "shape-preserving"},
    doc="Of x x^T + 1, which is positive definite for every x.",
)


def singular_values_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    if len(shape) < 2 or 0 in shape:
        raise ConstraintViolated(f"{shape} is not a matrix with elements")
    return resized(call["x"], (*shape[:-2], min(shape[-2:])))


op(
    "svdvals",
    "x",
    dtypes=WIDE,
    infer=singular_values_type,
    reference=lambda x: np.linalg.svd(x, compute_uv=False),
    torch={
        "function": "torch.linalg.svdvals({x})",
        "composed": Form(
            "torch.linalg.svd({x}, full_matrices=False).S",
            source="torch.linalg.svdvals: equivalent to svd(A).S, without the vectors",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.svd({x}, compute_uv=False)",
            "function_vectors": Form(
                "ops.svd({x})[0]",
                source="mindspore.ops.svd: returns s, u, v when compute_uv is True",
            ),
            "method": Form("{x}.svd(compute_uv=False)", source=mindspore_method("svd")),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((3, 4), (3, 3), (2, 3, 2)),
    tags={"linear", "decomposition"},
)

op(
    "matrix_power",
    "x",
    attrs={"n": (2, 3, 1, 0)},
    dtypes=WIDE,
    infer=square_type,
    reference=lambda x, n: np.linalg.matrix_power(x, n),
    torch={
        "function": "torch.matrix_power({x}, {n})",
        "method": Form("{x}.matrix_power({n})", source=torch_method("matrix_power")),
        "function_linalg": Form(
            "torch.linalg.matrix_power({x}, {n})",
            source="torch.matrix_power: alias for torch.linalg.matrix_power()",
        ),
        "composed": Form("{x} @ {x}", when={"n": 2}, source="torch.matrix_power: the n-th power"),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": Form("ops.matrix_power({x}, {n})", when=lambda call: call["x"].rank == 3),
            "method": Form(
                "{x}.matrix_power({n})",
                when=lambda call: call["x"].rank == 3,
                source=mindspore_method("matrix_power"),
            ),
            "composed": Form(
                "{x} @ {x}", when={"n": 2}, source="mindspore.ops.matrix_power: the n-th power"
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((2, 3, 3), (3, 3), (1, 1, 1)),
    tags={"linear", "shape-preserving"},
)


def solve_type(call: OpCall) -> Dense:
    a, b = square(call), static(call["b"])
    if b[:-1] != a[:-1] or len(b) != len(a):
        raise ConstraintViolated(f"solve: {b} is no right side of {a}")
    return resized(call["x"], b)


op(
    "solve",
    "x b",
    dtypes=WIDE,
    infer=solve_type,
    reference=lambda x, b: np.linalg.solve(gram(x), b),
    torch={
        "function": "torch.linalg.solve({x} @ {x}.mT"
        " + torch.eye({x}.shape[-1], dtype={x}.dtype), {b})",
        "composed": Form(
            "torch.linalg.inv({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype)) @ {b}",
            source="torch.linalg.solve: X = A^-1 B",
        ),
        "composed_cholesky": Form(
            "torch.cholesky_solve({b}, torch.linalg.cholesky({x} @ {x}.mT"
            " + torch.eye({x}.shape[-1], dtype={x}.dtype)))",
            source="torch.cholesky_solve: solves a system given its Cholesky decomposition",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "composed": "ops.matmul(ops.inverse(ops.matmul({x}, {x}.swapaxes(-1, -2))"
            " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype)), {b})",
        },
    ),
    tolerance=ACCUMULATING,
    companions=lambda x, attrs: {"b": same("b", x, *static(x)[:-1], 2)},
    shapes=SQUARES,
    tags={"linear", "decomposition"},
    doc="With the matrix x x^T + 1, which is well conditioned for every moderate x.",
)


# ------------------------------------------------------------------------ distances, products
def cdist_type(call: OpCall) -> Dense:
    a, b = shape_of(call["x"], 2, 3), static(call["y"])
    if len(a) != len(b) or a[-1] != b[-1] or a[:-2] != b[:-2]:
        raise ConstraintViolated(f"cdist: {a} and {b} do not fit")
    return resized(call["x"], (*a[:-1], b[-2]))


op(
    "cdist",
    "x y",
    attrs={"p": (2.0, 1.0)},
    dtypes=WIDE,
    infer=cdist_type,
    reference=lambda x, y, p: (
        (np.abs(x[..., :, None, :] - y[..., None, :, :]) ** p).sum(-1) ** (1 / p)
    ),
    torch={
        "function": "torch.cdist({x}, {y}, p={p})",
        "default": Form(
            "torch.cdist({x}, {y})", when={"p": 2.0}, source=default("torch.cdist", "p=2.0")
        ),
        "function_exact": Form(
            "torch.cdist({x}, {y}, {p}, compute_mode='donot_use_mm_for_euclid_dist')",
            source="torch.cdist: compute_mode chooses the matrix multiplication approach",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": "ops.cdist({x}, {y}, {p})",
            "default": Form(
                "ops.cdist({x}, {y})",
                when={"p": 2.0},
                source=default("mindspore.ops.cdist", "p=2.0"),
            ),
            "mint": Form("mint.cdist({x}, {y}, {p})", source="mindspore.mint.cdist(x1, x2, p=2.0)"),
            "primitive": Form(
                "ops.Cdist(p={p})({x}, {y})", source="mindspore.ops.Cdist: refer to ops.cdist"
            ),
        },
    ),
    tolerance=ACCUMULATING,
    companions=lambda x, attrs: {"y": same("y", x, *static(x)[:-2], 5, *static(x)[-1:])},
    shapes=((3, 4), (2, 3, 4), (1, 1)),
    tags={"distance"},
)


def cross_fits(call: OpCall) -> Requirement:
    yield static(call["x"]) == static(call["y"]), "the shapes differ"
    yield call["x"].rank > 0, "a scalar has no axis of three"
    extent = static(call["x"])[axis(call.integer("dim"), call["x"].rank)]
    yield extent == 3, f"the axis has extent {extent}, not 3"


op(
    "cross",
    "x y",
    attrs={"dim": (1, -1, 0)},
    dtypes=NUMBERS,
    infer=same_as_first,
    requires=cross_fits,
    reference=lambda x, y, dim: np.cross(x, y, axis=dim).astype(x.dtype),
    torch={
        "function": "torch.cross({x}, {y}, dim={dim})",
        "method": Form("{x}.cross({y}, dim={dim})", source=torch_method("cross")),
        "function_linalg": Form(
            "torch.linalg.cross({x}, {y}, dim={dim})",
            source="torch.linalg.cross: the cross product of two 3-dimensional vectors",
        ),
    },
    mindspore=limited(
        PRODUCTS,
        {
            "function": "ops.cross({x}, {y}, {dim})",
            "method": Form("{x}.cross({y}, {dim})", source=mindspore_method("cross")),
            "mint": Form("mint.cross({x}, {y}, {dim})", source="mindspore.mint.cross"),
            "primitive": Form(
                "ops.Cross(dim={dim})({x}, {y})", source="mindspore.ops.Cross: refer to ops.cross"
            ),
        },
    ),
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {"y": beside("y", x)},
    shapes=((2, 3, 4), (3, 3), (2, 3), (3, 1)),
    tags={"linear", "shape-preserving"},
)

op(
    "vander",
    "x",
    attrs={"n": (3, 1)},
    dtypes=WIDE,
    infer=lambda call: resized(call["x"], (*shape_of(call["x"], 1), call.integer("n"))),
    reference=lambda x, n: np.vander(x, n).astype(x.dtype),
    torch={"function": "torch.vander({x}, {n})"},
    mindspore=limited(WIDE, {"function": "ops.vander({x}, {n})"}),
    shapes=((4,), (1,)),
    tags={"linear"},
)

op(
    "cov",
    "x",
    attrs={"correction": (1, 0)},
    dtypes=WIDE,
    infer=lambda call: resized(call["x"], shape_of(call["x"], 2)[:1] * 2),
    requires=lambda call: (
        (call["x"].rank == 2 and product(static(call["x"])[1:]) > 1, "fewer than two observations"),
    ),
    reference=lambda x, correction: np.cov(x, ddof=correction, dtype=x.dtype).reshape(
        x.shape[0], x.shape[0]
    ),
    torch={
        "function": "torch.cov({x}, correction={correction})",
        "method": Form("{x}.cov(correction={correction})", source=torch_method("cov")),
        "default": Form(
            "torch.cov({x})", when={"correction": 1}, source=default("torch.cov", "correction=1")
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.cov({x}, correction={correction})",
            "method": Form("{x}.cov(correction={correction})", source=mindspore_method("cov")),
            "default": Form(
                "ops.cov({x})",
                when={"correction": 1},
                source=default("mindspore.ops.cov", "correction=1"),
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((3, 4), (2, 5)),
    tags={"linear"},
)
