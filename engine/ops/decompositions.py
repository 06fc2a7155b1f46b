"""Eigenvalues, factors, systems and least squares: only what is defined up to nothing is compared.

A factor is known up to signs, so a row's result is made of what the signs cannot change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import integrate, linalg

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import Dense, Tuple, Type
from engine.ops.matrices import SQUARES, WIDE, gram, square
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import (
    Requirement,
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
_TAGS = frozenset({"linear", "decomposition"})
_GRAM = "({x} @ {x}.mT + torch.eye({x}.shape[-1], dtype={x}.dtype))"
_MS_GRAM = (
    "(ops.matmul({x}, {x}.swapaxes(-1, -2)) + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype))"
)


_TILTED = "({x} + 2 * torch.eye(*{x}.shape[-2:], dtype={x}.dtype))"
_MS_TILTED = "({x} + 2 * ops.eye({x}.shape[-2], {x}.shape[-1], {x}.dtype))"


# ---------------------------------------------------------------------------------- eigenvalues
def values_type(call: OpCall) -> Dense:
    return resized(call["x"], square(call)[:-1])


op(
    "eigvalsh",
    "x",
    dtypes=WIDE,
    infer=values_type,
    reference=lambda x: np.linalg.eigvalsh(gram(x)),
    torch={
        "function": f"torch.linalg.eigvalsh({_GRAM})",
        "function_eigh": Form(
            f"torch.linalg.eigh({_GRAM}).eigenvalues",
            source="torch.linalg.eigvalsh: the eigenvalues of torch.linalg.eigh()",
        ),
        "keyword": Form(
            f'torch.linalg.eigvalsh({_GRAM}, UPLO="U")',
            source="torch.linalg.eigvalsh: UPLO, the triangle read; the matrix is symmetric",
        ),
        "composed": Form(
            f"torch.linalg.svdvals({_GRAM}).flip(-1)",
            source="torch.linalg.svdvals: of a positive definite matrix its eigenvalues, falling",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "composed": Form(
                f"ops.flip(ops.svd({_MS_GRAM}, compute_uv=False), (-1,))", api="ops.svd"
            ),
            "composed_eig": Form(
                f"ops.sort(ops.real(ops.eigvals({_MS_GRAM})))[0]",
                dtypes=("float32",),
                source="mindspore.ops.eigvals: the eigenvalues of a square matrix, in any order",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=SQUARES,
    tags=_TAGS,
    doc="Of x x^T + 1, in rising order.",
)
op(
    "eigvals",
    "x",
    dtypes=("float32",),
    infer=values_type,
    reference=lambda x: np.sort(np.abs(np.linalg.eigvals(x)), axis=-1),
    torch={
        "function": "torch.linalg.eigvals({x}).abs().sort(-1).values",
        "function_eig": Form(
            "torch.linalg.eig({x}).eigenvalues.abs().sort(-1).values",
            source="torch.linalg.eigvals: the eigenvalues of torch.linalg.eig()",
        ),
    },
    mindspore={
        "function": "ops.sort(ops.ComplexAbs()(ops.eigvals({x})))[0]",
        "function_eig": Form(
            "ops.sort(ops.ComplexAbs()(ops.eig({x})[0]))[0]",
            source="mindspore.ops.eig: eigenvalues and eigenvectors",
        ),
    },
    tolerance=ACCUMULATING,
    shapes=SQUARES,
    tags=_TAGS,
    differentiable=False,
    doc="Magnitudes in rising order: the order of the eigenvalues themselves is free.",
)


# --------------------------------------------------------------------------------- determinants
def sign_and_log(call: OpCall) -> Type:
    one = resized(call["x"], square(call)[:-2])
    return Tuple((one, one))


_SLOGDET: Mapping[str, str | Form] = {
    "function": f"torch.slogdet({_GRAM})",
    "function_linalg": Form(
        f"torch.linalg.slogdet({_GRAM})", source="torch.slogdet: alias for torch.linalg.slogdet()"
    ),
    "method": Form(f"{_GRAM}.slogdet()", source=torch_method("slogdet")),
}
op(
    "slogdet",
    "x",
    dtypes=WIDE,
    infer=sign_and_log,
    reference=lambda x: tuple(np.linalg.slogdet(gram(x))),
    torch={
        name: Form(
            one if isinstance(one, str) else one.call,
            result="tuple({out})",
            source="" if isinstance(one, str) else one.source,
        )
        for name, one in _SLOGDET.items()
    },
    mindspore=limited(
        WIDE,
        {
            "function": f"ops.slogdet({_MS_GRAM})",
            "method": Form(f"{_MS_GRAM}.slogdet()", source=mindspore_method("slogdet")),
            "primitive": Form(
                f"ops.LogMatrixDeterminant()({_MS_GRAM})",
                source="mindspore.ops.LogMatrixDeterminant: sign and log of the determinant",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=SQUARES,
    tags=_TAGS,
)


# -------------------------------------------------------------------------------------- factors
def factor_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    if len(shape) < 2 or 0 in shape:
        raise ConstraintViolated(f"{shape} is not a matrix with elements")
    return resized(call["x"], (*shape[:-2], min(shape[-2:]), shape[-1]))


def tall(call: OpCall) -> Requirement:
    shape = static(call["x"])
    yield len(shape) >= 2 and shape[-2] >= shape[-1], f"{shape} has more columns than rows"


op(
    "qr_r",
    "x",
    dtypes=WIDE,
    infer=factor_type,
    requires=tall,
    reference=lambda x: np.abs(np.linalg.qr(_tilted(x)).R),
    torch={
        "function": f"torch.linalg.qr({_TILTED}).R.abs()",
        "function_qr": Form(
            f"torch.qr({_TILTED}).R.abs()",
            source="torch.qr: deprecated in favour of torch.linalg.qr()",
        ),
        "keyword": Form(
            f'torch.linalg.qr({_TILTED}, mode="r")[1].abs()',
            source="torch.linalg.qr: mode='r' computes only the reduced R",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": f"ops.abs(ops.qr({_MS_TILTED})[1])",
            "primitive": Form(
                f"ops.abs(ops.Qr()({_MS_TILTED})[1])",
                source=mindspore_primitive("Qr", "qr"),
            ),
            "method": Form(
                f"{_MS_TILTED}.qr()[1].abs()",
                source=mindspore_method("qr"),
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((4, 3), (3, 3), (2, 3, 2)),
    tags=_TAGS,
    doc="Magnitudes of R: its rows are known up to their signs.",
)


def _tilted(x: Array) -> Array:
    """x + 2 times the identity, which has full rank for every moderate x."""
    return np.asarray(x + 2 * np.eye(x.shape[-2], x.shape[-1], dtype=x.dtype), x.dtype)


op(
    "qr_product",
    "x",
    dtypes=WIDE,
    infer=lambda call: resized(call["x"], (factor_type(call), static(call["x"]))[1]),
    requires=tall,
    reference=lambda x: x.copy(),
    torch={
        "composed": Form("torch.matmul(*torch.linalg.qr({x}))", api="torch.linalg.qr"),
        "composed_complete": Form(
            'torch.matmul(*torch.linalg.qr({x}, mode="complete"))',
            source="torch.linalg.qr: A = QR in the full decomposition, too",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "composed": Form("ops.matmul(*ops.qr({x}))", api="ops.qr"),
            "composed_complete": Form(
                'ops.matmul(*ops.qr({x}, "complete"))',
                source="mindspore.ops.qr: A = QR, mode 'complete' full-sized",
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((4, 3), (3, 3), (2, 3, 2)),
    tags={*_TAGS, "shape-preserving"},
    doc="Q times R, which is the matrix again.",
)


def flipped_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    if len(shape) < 2 or 0 in shape:
        raise ConstraintViolated(f"{shape} is not a matrix with elements")
    return resized(call["x"], (*shape[:-2], shape[-1], shape[-2]))


op(
    "pinv",
    "x",
    dtypes=WIDE,
    infer=flipped_type,
    requires=tall,
    reference=lambda x: np.linalg.pinv(_tilted(x)),
    torch={
        "function": f"torch.linalg.pinv({_TILTED})",
        "function_pinverse": Form(
            f"torch.pinverse({_TILTED})", source="torch.pinverse: alias for torch.linalg.pinv()"
        ),
        "method": Form(f"{_TILTED}.pinverse()", source=torch_method("pinverse")),
    },
    mindspore=limited(
        WIDE,
        {"function": f"ops.pinv({_MS_TILTED})"},
    ),
    tolerance=ACCUMULATING,
    domain=(-0.5, 0.5),
    shapes=((4, 3), (3, 3), (2, 3, 2)),
    tags=_TAGS,
    doc="Of x + 2, held small, so that no singular value is near the cut.",
)


# -------------------------------------------------------------------------------------- systems
def right_sides(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
    shape = static(x)
    return {"b": beside("b", resized(x, (*shape[:-2], shape[-1], 2)))} if len(shape) > 1 else {}


def system_type(call: OpCall) -> Dense:
    shape, b = square(call), static(call["b"])
    if len(b) != len(shape) or b[:-1] != shape[:-1]:
        raise ConstraintViolated(f"right sides of {b} for matrices of {shape}")
    return resized(call["x"], b)


def triangular(x: Array, b: Array, *, upper: bool) -> Array:
    cut = np.triu(gram(x)) if upper else np.tril(gram(x))
    return np.asarray(np.linalg.solve(cut, b), x.dtype)


op(
    "solve_triangular",
    "x b",
    attrs={"upper": (False, True)},
    dtypes=WIDE,
    infer=system_type,
    reference=triangular,
    torch={
        "function": f"torch.linalg.solve_triangular({_GRAM}, {{b}}, upper={{upper}})",
        "function_old": Form(
            f"torch.triangular_solve({{b}}, {_GRAM}, upper={{upper}}).solution",
            source="torch.triangular_solve: deprecated in favour of linalg.solve_triangular()",
        ),
        "method": Form(
            f"{{b}}.triangular_solve({_GRAM}, upper={{upper}})[0]",
            source=torch_method("triangular_solve"),
        ),
        "composed": Form(
            f"torch.linalg.solve(torch.tril({_GRAM}), {{b}})",
            when={"upper": False},
            source="torch.linalg.solve_triangular: the entries beside the triangle are not read",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "primitive": Form(
                f"ops.MatrixTriangularSolve(True)({_MS_GRAM}, {{b}})", when={"upper": False}
            ),
            "primitive_upper": Form(
                f"ops.MatrixTriangularSolve(False)({_MS_GRAM}, {{b}})", when={"upper": True}
            ),
            "composed": Form(
                f"ops.matrix_solve(ops.tril({_MS_GRAM}), {{b}})",
                when={"upper": False},
                source="mindspore.ops.matrix_solve: solves systems of linear equations",
            ),
        },
    ),
    companions=right_sides,
    tolerance=ACCUMULATING,
    domain=(-1.0, 1.0),
    shapes=SQUARES,
    tags=_TAGS,
    doc="With the triangle of x x^T + 1.",
)
op(
    "cholesky_solve",
    "x b",
    attrs={"upper": (False, True)},
    dtypes=WIDE,
    infer=system_type,
    reference=lambda x, b, upper: np.asarray(np.linalg.solve(gram(x), b), x.dtype),
    torch={
        "function": f"torch.cholesky_solve({{b}}, torch.linalg.cholesky({_GRAM}, upper={{upper}}),"
        " upper={upper})",
        "method": Form(
            f"{{b}}.cholesky_solve(torch.linalg.cholesky({_GRAM}, upper={{upper}}),"
            " upper={upper})",
            source=torch_method("cholesky_solve"),
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": f"ops.cholesky_solve({{b}}, ops.cholesky({_MS_GRAM}, upper={{upper}}),"
            " upper={upper})",
            "method": Form(
                f"{{b}}.cholesky_solve(ops.cholesky({_MS_GRAM}, upper={{upper}}), upper={{upper}})",
                source=mindspore_method("cholesky_solve"),
            ),
        },
    ),
    companions=right_sides,
    tolerance=ACCUMULATING,
    domain=(-1.0, 1.0),
    shapes=SQUARES,
    tags=_TAGS,
)


def inverse_type(call: OpCall) -> Dense:
    shape = square(call)
    if len(shape) != 2:
        raise ConstraintViolated(f"a tensor of rank {len(shape)}, expected a matrix")
    return resized(call["x"], shape)


op(
    "cholesky_inverse",
    "x",
    attrs={"upper": (False, True)},
    dtypes=WIDE,
    infer=inverse_type,
    reference=lambda x, upper: np.asarray(np.linalg.inv(gram(x)), x.dtype),
    torch={
        "function": f"torch.cholesky_inverse(torch.linalg.cholesky({_GRAM}, upper={{upper}}),"
        " upper={upper})",
        "method": Form(
            f"torch.linalg.cholesky({_GRAM}, upper={{upper}}).cholesky_inverse(upper={{upper}})",
            source=torch_method("cholesky_inverse"),
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": f"ops.cholesky_inverse(ops.cholesky({_MS_GRAM}, upper={{upper}}),"
            " upper={upper})",
            "method": Form(
                f"ops.cholesky({_MS_GRAM}, upper={{upper}}).cholesky_inverse(upper={{upper}})",
                source=mindspore_method("cholesky_inverse"),
            ),
        },
    ),
    tolerance=ACCUMULATING,
    domain=(-1.0, 1.0),
    shapes=((3, 3), (2, 2), (1, 1)),
    tags={*_TAGS, "shape-preserving"},
)


def least_type(call: OpCall) -> Dense:
    (rows, columns), (other, many) = shape_of(call["x"], 2), shape_of(call["b"], 2)
    if rows != other or 0 in (rows, columns, many):
        raise ConstraintViolated(f"right sides of {other} x {many} for {rows} x {columns}")
    return resized(call["x"], (columns, many))


op(
    "lstsq",
    "x b",
    dtypes=WIDE,
    infer=least_type,
    requires=tall,
    reference=lambda x, b: np.asarray(linalg.lstsq(_tilted(x), b)[0], x.dtype),
    torch={
        "function": f"torch.linalg.lstsq({_TILTED}, {{b}}).solution",
        "keyword": Form(
            f'torch.linalg.lstsq({_TILTED}, {{b}}, driver="gelsd").solution',
            source="torch.linalg.lstsq: driver, the LAPACK method; A has full rank",
        ),
        "composed": Form(
            f"torch.linalg.pinv({_TILTED}) @ {{b}}",
            source="torch.linalg.lstsq: solution = A.pinverse() @ B, slower and less stable",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": f"ops.lstsq({_MS_TILTED}, {{b}})",
            "method": Form(f"{_MS_TILTED}.lstsq({{b}})", source=mindspore_method("lstsq")),
            "primitive": Form(
                f"ops.Lstsq()({_MS_TILTED}, {{b}})", source=mindspore_primitive("Lstsq", "lstsq")
            ),
        },
    ),
    companions=lambda x, attrs: (
        {"b": beside("b", resized(x, (static(x)[0], 2)))} if x.rank == 2 else {}
    ),
    tolerance=ACCUMULATING,
    domain=(-0.5, 0.5),
    shapes=((4, 3), (3, 3), (2, 1)),
    tags=_TAGS,
    doc="Of x + 2, held small, which has full rank.",
)


# --------------------------------------------------------------------------------- added products
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
            "function": "ops.dist({x}, {y}, {p})",
            "keyword": Form(
                "ops.dist(input={x}, other={y}, p={p})", source="mindspore.ops.dist: names"
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


def trapezoid_type(call: OpCall) -> Dense:
    shape, dim = static(call["x"]), call.integer("dim")
    if not -len(shape) <= dim < len(shape):
        raise ConstraintViolated(f"axis {dim} does not exist in {shape}")
    at = dim % len(shape)
    return resized(call["x"], (*shape[:at], *shape[at + 1 :]))


op(
    "trapezoid",
    "x",
    attrs={"dx": (1.0, 0.5), "dim": (-1, 0)},
    dtypes=WIDE,
    infer=trapezoid_type,
    reference=lambda x, dx, dim: np.asarray(integrate.trapezoid(x, dx=dx, axis=dim), x.dtype),
    torch={
        "function": "torch.trapezoid({x}, dx={dx}, dim={dim})",
        "function_trapz": Form(
            "torch.trapz({x}, dx={dx}, dim={dim})",
            source="torch.trapz: alias for torch.trapezoid()",
        ),
        "composed": Form(
            "torch.cumulative_trapezoid({x}, dx={dx}, dim={dim}).select({dim}, -1)",
            when=lambda call: static(call["x"])[call.integer("dim")] > 1,
            source="torch.cumulative_trapezoid: the last is torch.trapezoid()",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "function": "ops.trapz({x}, dx={dx}, dim={dim})",
            "default": Form(
                "ops.trapz({x})",
                when={"dx": 1.0, "dim": -1},
                source=default("mindspore.ops.trapz", "x=None, dx=1.0, dim=-1"),
            ),
        },
    ),
    tolerance=ACCUMULATING,
    shapes=((3, 4), (5,), (2, 3, 2)),
    tags={"reduction"},
)
