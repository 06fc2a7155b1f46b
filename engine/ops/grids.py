"""Grids and choices: every pair of values, every choice of several, every place below a length."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from engine.ir.types import FLOATS, Dense, Tuple, Type
from engine.ops.families import Array, companion
from engine.ops.rules import default, limited, mindspore_primitive, resized, shape_of, static
from engine.ops.spec import Form, OpCall, Tolerance, op


def vector_pair(call: OpCall) -> Iterator[tuple[bool, str]]:
    ranks = (call["x"].rank, call["y"].rank)
    yield ranks == (1, 1), f"the inputs have ranks {ranks}, expected vectors"


def mesh_type(call: OpCall) -> Type:
    (across,), (down,) = shape_of(call["x"], 1), shape_of(call["y"], 1)
    sides = (across, down) if call.attr("indexing") == "ij" else (down, across)
    return Tuple((resized(call["x"], sides), resized(call["x"], sides)))


op(
    "meshgrid",
    "x y",
    attrs={"indexing": ("ij", "xy")},
    dtypes=(*FLOATS, "int32", "int64"),
    infer=mesh_type,
    requires=vector_pair,
    reference=lambda x, y, indexing: tuple(
        one.copy() for one in np.meshgrid(x, y, indexing=indexing)
    ),
    companions=companion("y"),
    tolerance=Tolerance.EXACT,
    shapes=((4,), (1,)),
    tags={"joining"},
    torch={
        "function": Form(
            "torch.meshgrid({x}, {y}, indexing={indexing})",
            result="tuple(one.clone() for one in {out})",
            api="torch.meshgrid",
        ),
        "default": Form(
            "torch.meshgrid([{x}, {y}], indexing={indexing})",
            result="tuple(one.clone() for one in {out})",
            source="torch.meshgrid: *tensors (list of Tensor)",
            api="torch.meshgrid",
        ),
        "composed": Form(
            "({x}[:, None].expand(-1, {y}.shape[0]).clone(),"
            " {y}[None, :].expand({x}.shape[0], -1).clone())",
            when={"indexing": "ij"},
            source="torch.meshgrid: G_k(i_1, ..., i_N) = T_k(i_k)",
        ),
    },
    mindspore=limited(
        ("float32", "float64", "float16", "int32", "int64"),
        {
            "function": "ops.meshgrid({x}, {y}, indexing={indexing})",
            "default": Form(
                "ops.meshgrid({x}, {y})",
                when={"indexing": "xy"},
                source=default("mindspore.ops.meshgrid", "indexing='xy'"),
            ),
            "mint": Form(
                "mint.meshgrid({x}, {y}, indexing={indexing})",
                source="mindspore.mint.meshgrid: coordinate matrices from tensors",
            ),
            "primitive": Form(
                "{self}(({x}, {y}))",
                setup=("{self} = ops.Meshgrid({indexing})",),
                source=mindspore_primitive("Meshgrid", "meshgrid"),
            ),
        },
    ),
    doc="The grids are copies here: in PyTorch they are views of the vectors.",
)


def _chosen(call: OpCall) -> Dense:
    (extent,) = shape_of(call["x"], 1)
    r = call.integer("r")
    again = bool(call.attr("with_replacement"))
    count = math.comb(extent + r - 1, r) if again else math.comb(extent, r)
    return resized(call["x"], (count, r))


def _some(call: OpCall) -> Iterator[tuple[bool, str]]:
    (extent,) = shape_of(call["x"], 1)
    yield extent >= call.integer("r"), f"{extent} values, fewer than are chosen"


def combined(x: Array, *, r: int, with_replacement: bool) -> Array:
    every = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(every(range(len(x)), r)), dtype=np.int64).reshape(-1, r)
    found: Array = x[places]
    return found


op(
    "combinations",
    "x",
    attrs={"r": (2, 3, 1), "with_replacement": (False, True)},
    dtypes=(*FLOATS, "int32", "int64"),
    infer=_chosen,
    requires=_some,
    reference=combined,
    tolerance=Tolerance.EXACT,
    shapes=((5,), (3,)),
    tags={"joining"},
    torch={
        "function": "torch.combinations({x}, {r}, {with_replacement})",
        "keyword": Form(
            "torch.combinations({x}, r={r}, with_replacement={with_replacement})",
            source="torch.combinations: names",
        ),
        "default": Form(
            "torch.combinations({x})",
            when={"r": 2, "with_replacement": False},
            source=default("torch.combinations", "r=2, with_replacement=False"),
        ),
    },
    mindspore=limited(
        ("float32", "float64", "float16", "int32", "int64"),
        {
            "function": "ops.combinations({x}, {r}, {with_replacement})",
            "keyword": Form(
                "ops.combinations(input={x}, r={r}, with_replacement={with_replacement})",
                source="mindspore.ops.combinations: names",
            ),
            "default": Form(
                "ops.combinations({x})",
                when={"r": 2, "with_replacement": False},
                source=default("mindspore.ops.combinations", "r=2, with_replacement=False"),
            ),
        },
    ),
)
op(
    "sequence_mask",
    "x",
    attrs={"most": (4, 1, 6)},
    dtypes=("int64", "int32"),
    infer=lambda call: resized(call["x"], (*static(call["x"]), call.integer("most")), "bool"),
    reference=lambda x, most: np.arange(most) < x[..., None],
    tolerance=Tolerance.EXACT,
    domain=(0.0, 4.0),
    shapes=((3,), (2, 3)),
    tags={"comparison"},
    differentiable=False,
    torch={
        "composed": Form("torch.arange({most}) < {x}[..., None]", api="torch.arange"),
        "composed_lt": Form(
            "torch.lt(torch.arange({most}), {x}.unsqueeze(-1))", source="torch.lt: input < other"
        ),
    },
    mindspore={
        "function": "ops.sequence_mask({x}, {most})",
        "keyword": Form(
            "ops.sequence_mask(lengths={x}, maxlen={most})",
            source="mindspore.ops.sequence_mask: names",
        ),
        "composed": Form(
            "ops.arange({most}) < ops.expand_dims({x}, -1)",
            source="mindspore.ops.sequence_mask: mask[..., j] = (j < lengths[...])",
        ),
    },
)
