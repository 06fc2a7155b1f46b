"""Linear algebra of matrices, distances and covariances."""

from __future__ import annotations

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import Dense
from engine.ops.linear import ACCUMULATING, PRODUCTS, same
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import (
    NUMBERS,
    Requirement,
    axis,
    default,
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
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.MatrixPower({n})",),
                when=lambda call: call["x"].rank == 3,
                source="mindspore.ops.MatrixPower: the n-th power of a batch of square matrices",
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
            "primitive": Form(
                "{self}(ops.matmul({x}, {x}.swapaxes(-1, -2))"
                " + ops.eye({x}.shape[-1], {x}.shape[-1], {x}.dtype), {b})",
                setup=("{self} = ops.MatrixSolve()",),
                source="mindspore.ops.MatrixSolve: solves systems of linear equations",
            ),
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
