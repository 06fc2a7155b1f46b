"""Eigenvalues, factors, systems and least squares: only what is defined up to nothing is compared.

A factor is known up to signs, so a row's result is made of what the signs cannot change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import linalg

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import Dense, Tuple, Type
from engine.ops.matrices import SQUARES, WIDE, gram, square
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import (
    Requirement,
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
            no_gradient="torch.linalg.qr: mode='r' is never differentiable",
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
            no_gradient="torch.linalg.qr: mode='complete' is differentiable for m <= n",
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
