"""Compressed sparse rows: dense in, dense out, so that a case stays dense outside.

MindSpore's products of a CSR tensor (mv, mm, mul, div, sum) have no forms here: each new shape goes
through an external kernel compiler for 25 seconds and more, longer than a case may take. No
row is differentiable: few of these operators have a gradient through sparse storage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Input
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.operands import beside
from engine.ops.rules import Requirement, limited, resized, same_as_first, shape_of
from engine.ops.spec import Form, OpCall, Tolerance, op

FLOATS = ("float32", "float64")
MATRICES = ((3, 4), (4, 2), (1, 3))


def matrix(call: OpCall) -> Requirement:
    yield call["x"].rank == 2, "the input is no matrix"
    if call["x"].rank == 2:
        yield 0 not in shape_of(call["x"], 2), "the matrix is empty"


def csr(name: str = "x") -> str:
    """The expression of a MindSpore CSR tensor of a dense matrix, every entry stored."""
    rows, columns = f"{{{name}}}.shape[0]", f"{{{name}}}.shape[1]"
    return (
        f"ms.CSRTensor(ops.arange(0, {rows} * {columns} + 1, {columns}).astype(ms.int32),"
        f" ops.tile(ops.arange({columns}), ({rows},)).astype(ms.int32), {{{name}}}.reshape(-1),"
        f" ({rows}, {columns}))"
    )


def vector(x: Dense, extent: int) -> Input:
    return beside("y", resized(x, (extent, 1)))


# ------------------------------------------------------------------------------------ round trip
op(
    "csr_round_trip",
    "x",
    dtypes=FLOATS,
    infer=same_as_first,
    requires=matrix,
    reference=lambda x: x.copy(),
    torch={
        "method": "{x}.to_sparse_csr().to_dense()",
        "composed": Form(
            "{x}.to_sparse(layout=torch.sparse_csr).to_dense()",
            source="torch.Tensor.to_sparse_csr: convert to compressed row storage",
        ),
        "composed_coo": Form(
            "{x}.to_sparse().to_sparse_csr().to_dense()",
            source="torch.Tensor.to_dense: a strided copy, whatever the sparse layout",
        ),
    },
    mindspore=limited(
        ("float32",),
        {
            "method": "{x}.to_csr().to_dense()",
            "method_coo": Form(
                "{x}.to_coo().to_dense()",
                source="mindspore.Tensor.to_coo: converts a dense tensor to a COO tensor",
            ),
            "function": Form(
                "ops.csr_to_dense({x}.to_csr())",
                source="mindspore.ops.csr_to_dense: converts a CSR tensor to its dense form",
            ),
            "function_coo": Form(
                "ops.csr_to_coo({x}.to_csr()).to_dense()",
                source="mindspore.ops.csr_to_coo: converts a CSR tensor to a COO tensor",
            ),
            "composed": Form(
                f"{csr()}.to_dense()",
                source="mindspore.CSRTensor(indptr, indices, values, shape)",
            ),
        },
    ),
    tolerance=Tolerance.EXACT,
    shapes=MATRICES,
    differentiable=False,
    tags={"sparse", "shape-preserving"},
)


# -------------------------------------------------------------------------------------- products
def product_type(call: OpCall) -> Dense:
    a, b = shape_of(call["x"], 2), shape_of(call["y"], 2)
    if a[1] != b[0]:
        raise ConstraintViolated(f"{a} and {b} do not share an inner extent")
    return resized(call["x"], (a[0], b[1]))


op(
    "csr_matvec",
    "x y",
    dtypes=FLOATS,
    infer=product_type,
    requires=lambda call: (
        *matrix(call),
        (call["y"].rank == 2 and call["y"].shape[1] == 1, "the other operand is no column"),
    ),
    reference=lambda x, y: x @ y,
    torch={
        "composed": "{x}.to_sparse_csr() @ {y}",
        "composed_mm": Form(
            "torch.sparse.mm({x}.to_sparse_csr(), {y})",
            source="torch.sparse.mm: the product of a sparse and a strided matrix",
        ),
    },
    mindspore=None,
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {"y": vector(x, shape_of(x, 2)[1])},
    shapes=MATRICES,
    differentiable=False,
    tags={"sparse", "linear"},
)

op(
    "csr_matmul",
    "x y",
    dtypes=FLOATS,
    infer=product_type,
    requires=matrix,
    reference=lambda x, y: x @ y,
    torch={
        "composed": "{x}.to_sparse_csr() @ {y}",
        "composed_mm": Form(
            "torch.sparse.mm({x}.to_sparse_csr(), {y})",
            source="torch.sparse.mm: the product of a sparse and a strided matrix",
        ),
        "composed_addmm": Form(
            "torch.addmm(torch.zeros({x}.shape[0], {y}.shape[1], dtype={x}.dtype),"
            " {x}.to_sparse_csr(), {y})",
            source="torch.addmm: mat1 may be a sparse CSR tensor",
        ),
    },
    mindspore=None,
    tolerance=Tolerance.ACCUMULATING,
    companions=lambda x, attrs: {"y": beside("y", resized(x, (shape_of(x, 2)[1], 2)))},
    shapes=MATRICES,
    differentiable=False,
    tags={"sparse", "linear"},
)


# ------------------------------------------------------------------------------- element by element
def same_matrix(call: OpCall) -> Requirement:
    yield from matrix(call)
    yield call["x"].shape == call["y"].shape, "the shapes differ"


op(
    "csr_mul",
    "x y",
    dtypes=FLOATS,
    infer=same_as_first,
    requires=same_matrix,
    reference=lambda x, y: x * y,
    torch={
        "composed": "({x}.to_sparse_csr() * {y}.to_sparse_csr()).to_dense()",
        "composed_dense": Form(
            "({x}.to_sparse_csr() * {y}).to_dense()",
            source="torch.mul: elementwise product, a sparse operand keeps its layout",
        ),
    },
    mindspore=limited(("float32",), {"composed": "ops.csr_mul({x}.to_csr(), {y}).to_dense()"}),
    tolerance=Tolerance.ELEMENTWISE,
    companions=lambda x, attrs: {"y": beside("y", x)},
    shapes=MATRICES,
    differentiable=False,
    tags={"sparse", "shape-preserving"},
)


def added(x: Array, y: Array, *, alpha: int) -> Array:
    found: Array = x + x.dtype.type(alpha) * y
    return found


op(
    "csr_add",
    "x y",
    attrs={"alpha": (1, 2)},
    dtypes=FLOATS,
    infer=same_as_first,
    requires=same_matrix,
    reference=lambda x, y, alpha: added(x, y, alpha=alpha),
    torch={
        "composed": "torch.add({x}.to_sparse_csr(), {y}.to_sparse_csr(), alpha={alpha}).to_dense()",
    },
    mindspore=limited(
        ("float32",),
        {
            "composed": "ops.csr_add({x}.to_csr(), {y}.to_csr(), Tensor(1.0, ms.float32),"
            " Tensor(float({alpha}), ms.float32)).to_dense()",
        },
    ),
    tolerance=Tolerance.ELEMENTWISE,
    companions=lambda x, attrs: {"y": beside("y", x)},
    shapes=MATRICES,
    differentiable=False,
    tags={"sparse", "shape-preserving"},
)

op(
    "csr_sum",
    "x",
    attrs={"dim": (1, 0)},
    dtypes=FLOATS,
    infer=lambda call: resized(
        call["x"],
        (
            1 if at == call.attr("dim") else extent
            for at, extent in enumerate(shape_of(call["x"], 2))
        ),
    ),
    requires=matrix,
    reference=lambda x, dim: np.sum(x, axis=dim, keepdims=True),
    torch={
        "composed": "torch.sum({x}.to_sparse_csr(), {dim}, keepdim=True).to_dense()",
    },
    mindspore=None,
    tolerance=Tolerance.ACCUMULATING,
    shapes=MATRICES,
    differentiable=False,
    tags={"sparse"},
)


# ------------------------------------------------------------------------------ stored values
def stored_row(
    name: str, reference: Callable[[Array], Array], torch: str, mindspore: Mapping[str, str | Form]
) -> None:
    """A function that keeps zero zero, applied to the stored values."""
    op(
        f"csr_{name}",
        "x",
        dtypes=FLOATS,
        infer=same_as_first,
        requires=matrix,
        reference=lambda x: reference(x),
        torch={
            "composed": f"torch.{torch}({{x}}.to_sparse_csr()).to_dense()",
            "composed_coo": Form(
                f"torch.{torch}({{x}}.to_sparse()).to_dense()",
                source=f"torch.{torch}: zero-preserving, a sparse operand keeps its layout",
            ),
        },
        mindspore=limited(("float32",), mindspore),
        tolerance=Tolerance.TRANSCENDENTAL,
        shapes=MATRICES,
        differentiable=False,
        tags={"sparse", "shape-preserving"},
    )


def stored_forms(name: str) -> dict[str, str | Form]:
    return {
        "function": f"ops.csr_{name}({{x}}.to_csr()).to_dense()",
        "function_coo": Form(
            f"ops.coo_{name}({{x}}.to_coo()).to_dense()",
            source=f"mindspore.ops.coo_{name}: the function of the stored values",
        ),
    }


stored_row("relu", lambda x: np.maximum(x, 0), "relu", stored_forms("relu"))
stored_row("abs", np.abs, "abs", stored_forms("abs"))
stored_row("sin", np.sin, "sin", stored_forms("sin"))
stored_row("tanh", np.tanh, "tanh", stored_forms("tanh"))
stored_row("sign", np.sign, "sign", {})


def stored_softmax(x: Array) -> Array:
    weights = np.where(x != 0, np.exp(x - x.max(1, keepdims=True)), 0)
    total = weights.sum(1, keepdims=True)
    found: Array = np.divide(weights, total, out=np.zeros_like(x), where=total > 0)
    return found


op(
    "csr_softmax",
    "x",
    dtypes=FLOATS,
    infer=same_as_first,
    requires=matrix,
    reference=stored_softmax,
    torch={
        "composed": "torch.sparse.softmax({x}.to_sparse(), 1).to_dense()",
        "composed_masked": Form(
            'torch.softmax({x}.masked_fill({x} == 0, float("-inf")), 1).nan_to_num(0.0)',
            source="torch.sparse.softmax: unspecified entries are treated as minus infinity",
        ),
    },
    mindspore=limited(
        ("float32",), {"function": "ops.csr_softmax({x}.to_csr(), ms.float32).to_dense()"}
    ),
    tolerance=Tolerance.TRANSCENDENTAL,
    shapes=MATRICES,
    differentiable=False,
    tags={"sparse", "shape-preserving"},
)
