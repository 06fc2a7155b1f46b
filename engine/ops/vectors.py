"""Products of vectors: einsum, outer, inner, matrix with vector, traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import Dense
from engine.ops.linear import ACCUMULATING, PRODUCTS, same
from engine.ops.numeric import widened
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    NUMBERS,
    limited,
    mindspore_method,
    resized,
    shape_of,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, op


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
            "method_ger": Form(
                "{x}.ger({y})", dtypes=MINDSPORE_FLOATS, source=mindspore_method("ger")
            ),
            "primitive": Form(
                "{self}({x}, {y})",
                setup=("{self} = ops.Ger()",),
                dtypes=MINDSPORE_FLOATS,
                source="mindspore.ops.Ger: refer to mindspore.ops.ger for more details",
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
