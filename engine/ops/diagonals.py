"""Triangles, diagonals and windows of matrices."""

from __future__ import annotations

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.rules import (
    MINDSPORE_MOVING,
    MINDSPORE_NUMBERS,
    MOVING,
    axis,
    default,
    limited,
    mindspore_method,
    normal_axes,
    product,
    resized,
    same_as_first,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
MATRICES = ((3, 4), (2, 3, 3), (4, 2), (1, 1))


# ------------------------------------------------------------------------------------ triangles
def triangle_row(name: str, opposite: str) -> None:
    reference = np.tril if name == "tril" else np.triu
    title = name.capitalize()
    op(
        name,
        "x",
        attrs={"diagonal": (0, 1, -1, 5)},
        dtypes=MOVING,
        infer=same_as_first,
        requires=lambda call: ((call["x"].rank >= 2, "the input is no matrix"),),
        reference=lambda x, diagonal: reference(x, diagonal),
        torch={
            "function": f"torch.{name}({{x}}, {{diagonal}})",
            "method": Form(f"{{x}}.{name}({{diagonal}})", source=torch_method(name)),
            "keyword": Form(
                f"torch.{name}(input={{x}}, diagonal={{diagonal}})", source=f"torch.{name}"
            ),
            "default": Form(
                f"torch.{name}({{x}})",
                when={"diagonal": 0},
                source=default(f"torch.{name}", "diagonal=0"),
            ),
            "inplace": Form(
                f"{{x}}.clone().{name}_({{diagonal}})",
                source=f"torch.Tensor.{name}_: in-place version of {name}()",
            ),
        },
        mindspore=limited(
            MINDSPORE_MOVING,
            {
                "function": f"ops.{name}({{x}}, {{diagonal}})",
                "method": Form(f"{{x}}.{name}({{diagonal}})", source=mindspore_method(name)),
                "keyword": Form(
                    f"ops.{name}({{x}}, diagonal={{diagonal}})", source=f"mindspore.ops.{name}"
                ),
                "default": Form(
                    f"ops.{name}({{x}})",
                    when={"diagonal": 0},
                    source=default(f"mindspore.ops.{name}", "diagonal=0"),
                ),
                "primitive": Form(
                    f"ops.{title}({{diagonal}})({{x}})",
                    source=f"mindspore.ops.{title}: the triangular portion, others set to 0",
                ),
                **(
                    {
                        "mint": Form(
                            "mint.triu({x}, {diagonal})", source="mindspore.mint.triu: see ops.triu"
                        )
                    }
                    if name == "triu"
                    else {}
                ),
            },
        ),
        tolerance=EXACT,
        shapes=MATRICES,
        tags={"shape-preserving", "triangle"},
        doc=f"The rest of the matrix is zero; {opposite} keeps the other part.",
    )


triangle_row("tril", "triu")
triangle_row("triu", "tril")


# ------------------------------------------------------------------------------------ diagonals
def diagonal_length(rows: int, columns: int, offset: int) -> int:
    return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)


def diagonal_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    one, two = normal_axes((call.integer("dim1"), call.integer("dim2")), len(shape))
    extent = diagonal_length(shape[one], shape[two], call.integer("offset"))
    if not extent:
        raise ConstraintViolated("the diagonal is empty")
    rest = (e for at, e in enumerate(shape) if at not in (one, two))
    return resized(call["x"], (*rest, extent))


def main_plane(call: OpCall) -> bool:
    return call.attr("dim1") == 0 and call.attr("dim2") == 1


def main_diagonal(call: OpCall) -> bool:
    return main_plane(call) and call.attr("offset") == 0


op(
    "diagonal",
    "x",
    attrs={"offset": (0, 1, -1), "dim1": (0, -2, 1), "dim2": (1, -1, 0)},
    dtypes=MOVING,
    infer=diagonal_type,
    requires=lambda call: ((call["x"].rank >= 2, "the input is no matrix"),),
    reference=lambda x, offset, dim1, dim2: np.diagonal(x, offset, dim1, dim2),
    torch={
        "function": "torch.diagonal({x}, {offset}, {dim1}, {dim2})",
        "method": Form("{x}.diagonal({offset}, {dim1}, {dim2})", source=torch_method("diagonal")),
        "keyword": Form(
            "torch.diagonal({x}, offset={offset}, dim1={dim1}, dim2={dim2})",
            source="torch.diagonal",
        ),
        "default": Form(
            "torch.diagonal({x}, {offset})",
            when=main_plane,
            source=default("torch.diagonal", "dim1=0, dim2=1"),
        ),
        "default_method": Form(
            "{x}.diagonal()",
            when=main_diagonal,
            source=default("torch.Tensor.diagonal", "offset=0, dim1=0, dim2=1"),
        ),
        "function_linalg": Form(
            "torch.linalg.diagonal({x}, offset={offset}, dim1={dim1}, dim2={dim2})",
            source="torch.linalg.diagonal: alias for torch.diagonal(), other defaults",
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "function": "ops.diagonal({x}, {offset}, {dim1}, {dim2})",
            "method": Form(
                "{x}.diagonal({offset}, {dim1}, {dim2})", source=mindspore_method("diagonal")
            ),
            "keyword": Form(
                "ops.diagonal({x}, offset={offset}, dim1={dim1}, dim2={dim2})",
                source="mindspore.ops.diagonal(input, offset=0, dim1=0, dim2=1)",
            ),
            "default": Form(
                "ops.diagonal({x}, {offset})",
                when=main_plane,
                source=default("mindspore.ops.diagonal", "dim1=0, dim2=1"),
            ),
            "default_method": Form(
                "{x}.diagonal()",
                when=main_diagonal,
                source=default("mindspore.Tensor.diagonal", "offset=0, axis1=0, axis2=1"),
            ),
            "function_part": Form(
                "ops.matrix_diag_part({x}, {offset}, Tensor(0, {x}.dtype))",
                when=lambda call: call["x"].rank == 2 and main_plane(call),
                dtypes=("float32", "float64", "int32"),
                source="mindspore.ops.matrix_diag_part: k (Union[int, Tensor]), diagonal offset",
            ),
            "primitive": Form(
                "ops.DiagPart()({x})",
                when=lambda call: (
                    call["x"].rank == 2 and len(set(static(call["x"]))) == 1 and main_diagonal(call)
                ),
                dtypes=("float32", "float16", "float64", "int32", "int64"),
                source="mindspore.ops.DiagPart: extracts the diagonal from given tensor",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((3, 4), (2, 3, 3), (3, 3)),
    tags={"view", "diagonal"},
    views="x",
)


def diag_square(call: OpCall) -> Dense:
    extent = product(static(call["x"])) + abs(call.integer("offset"))
    return resized(call["x"], (extent, extent))


op(
    "diagflat",
    "x",
    attrs={"offset": (0, 1, -1)},
    dtypes=MOVING,
    infer=diag_square,
    requires=lambda call: (
        (call["x"].rank >= 1 and 0 not in static(call["x"]), "the input has no axis or is empty"),
    ),
    reference=lambda x, offset: np.diagflat(x, offset),
    torch={
        "function": "torch.diagflat({x}, {offset})",
        "method": Form("{x}.diagflat({offset})", source=torch_method("diagflat")),
        "default": Form(
            "torch.diagflat({x})", when={"offset": 0}, source=default("torch.diagflat", "offset=0")
        ),
        "function_diag": Form(
            "torch.diag({x}, {offset})",
            when=lambda call: call["x"].rank == 1,
            source="torch.diag: of a vector, a square matrix with it as the diagonal",
        ),
    },
    mindspore=limited(
        ("float32", "float16", "float64", "int32", "int64"),
        {
            "function": "ops.diagflat({x}, {offset})",
            "method": Form("{x}.diagflat({offset})", source=mindspore_method("diagflat")),
            "default": Form(
                "ops.diagflat({x})",
                when={"offset": 0},
                source=default("mindspore.ops.diagflat", "offset=0"),
            ),
            "function_diag": Form(
                "ops.diag({x})",
                when=lambda call: call["x"].rank == 1 and call.attr("offset") == 0,
                source="mindspore.ops.diag: a tensor with the given diagonal values",
            ),
            "primitive": Form(
                "ops.Diag()({x})",
                when=lambda call: call["x"].rank == 1 and call.attr("offset") == 0,
                source="mindspore.ops.Diag: refer to ops.diag",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((3,), (2, 2), (1,)),
    tags={"diagonal"},
)


def embedded_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    one, two = normal_axes((call.integer("dim1"), call.integer("dim2")), len(shape) + 1)
    extent = shape[-1] + abs(call.integer("offset"))
    result = list(shape[:-1])
    for at in sorted((one, two)):
        result.insert(at, extent)
    return resized(call["x"], result)


def diag_embed(x: Array, offset: int, dim1: int, dim2: int) -> Array:
    extent = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], extent, extent), x.dtype)
    places = np.arange(x.shape[-1])
    result[..., places + max(-offset, 0), places + max(offset, 0)] = x
    return np.moveaxis(result, (-2, -1), (dim1, dim2))


op(
    "diag_embed",
    "x",
    attrs={"offset": (0, 1, -1), "dim1": (-2, 0), "dim2": (-1, 1)},
    dtypes=MOVING,
    infer=embedded_type,
    requires=lambda call: (
        (call["x"].rank >= 1 and 0 not in static(call["x"]), "the input has no axis or is empty"),
    ),
    reference=diag_embed,
    torch={
        "function": "torch.diag_embed({x}, {offset}, {dim1}, {dim2})",
        "method": Form(
            "{x}.diag_embed({offset}, {dim1}, {dim2})", source=torch_method("diag_embed")
        ),
        "default": Form(
            "torch.diag_embed({x})",
            when={"offset": 0, "dim1": -2, "dim2": -1},
            source=default("torch.diag_embed", "offset=0, dim1=-2, dim2=-1"),
        ),
    },
    mindspore=limited(
        MINDSPORE_NUMBERS,
        {
            "function": "ops.diag_embed({x}, {offset}, {dim1}, {dim2})",
            "keyword": Form(
                "ops.diag_embed({x}, offset={offset}, dim1={dim1}, dim2={dim2})",
                source="mindspore.ops.diag_embed(input, offset=0, dim1=-2, dim2=-1)",
            ),
            "default": Form(
                "ops.diag_embed({x})",
                when={"offset": 0, "dim1": -2, "dim2": -1},
                source=default("mindspore.ops.diag_embed", "offset=0, dim1=-2, dim2=-1"),
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3), (3,), (2, 1, 2)),
    tags={"diagonal"},
)


# -------------------------------------------------------------------------------------- windows
def window_type(call: OpCall) -> Dense:
    shape, size = static(call["x"]), call.integer("size")
    at = axis(call.integer("dim"), len(shape))
    if not 0 < size <= shape[at]:
        raise ConstraintViolated(f"a window of {size} does not fit an extent of {shape[at]}")
    count = (shape[at] - size) // call.integer("step") + 1
    return resized(call["x"], (*shape[:at], count, *shape[at + 1 :], size))


def windows(x: Array, dim: int, size: int, step: int) -> Array:
    at = dim % x.ndim
    found = np.lib.stride_tricks.sliding_window_view(x, size, axis=at)
    place = (*(slice(None),) * at, slice(None, None, step))
    return found[place]


op(
    "unfold",
    "x",
    attrs={"dim": (1, 0, -1), "size": (2, 3), "step": (1, 2)},
    dtypes=MOVING,
    infer=window_type,
    requires=lambda call: ((call["x"].rank > 0, "a scalar has no axis to slide along"),),
    reference=windows,
    torch={
        "method": "{x}.unfold({dim}, {size}, {step})",
        "keyword": Form(
            "{x}.unfold(dimension={dim}, size={size}, step={step})", source="torch.Tensor.unfold"
        ),
    },
    mindspore=None,
    tolerance=EXACT,
    shapes=((2, 3, 4), (5,), (4, 4)),
    tags={"view", "windows", "overlapping"},
    views="x",
)


def strided_type(call: OpCall) -> Dense:
    size, stride = call.integers("size"), call.integers("stride")
    reach = call.integer("offset") + sum((e - 1) * s for e, s in zip(size, stride, strict=False))
    if len(size) != len(stride) or 0 in size or reach >= product(static(call["x"])):
        raise ConstraintViolated(f"size {size} with stride {stride} leaves the tensor")
    return resized(call["x"], size)


def strided(x: Array, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Array:
    flat = np.ascontiguousarray(x).reshape(-1)[offset:]
    steps = tuple(step * flat.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(flat, size, steps).copy()


op(
    "as_strided",
    "x",
    attrs={"size": ((2, 3), (2, 2), (3,)), "stride": ((4, 1), (1, 1), (2,)), "offset": (0, 1)},
    dtypes=MOVING,
    infer=strided_type,
    reference=strided,
    torch={
        "composed": "{x}.clone(memory_format=torch.contiguous_format)"
        ".as_strided({size}, {stride}, {offset})",
        "composed_function": Form(
            "torch.as_strided({x}.clone(memory_format=torch.contiguous_format), {size}, {stride},"
            " {offset})",
            source=torch_method("as_strided"),
        ),
        "composed_index": Form(
            "{x}.flatten()[torch.tensor([{offset} + at * {stride}[0] for at in range({size}[0])])]",
            when=lambda call: len(call.integers("size")) == 1,
            source="torch.as_strided: element i lies at storage_offset + i * stride",
        ),
    },
    mindspore=None,
    tolerance=EXACT,
    shapes=((3, 4), (2, 2, 3), (12,)),
    tags={"windows"},
    doc="Of a contiguous copy, so that the memory layout of the operand does not matter.",
)
