"""Rows of invented operators, for tests that must not depend on the wording of real ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from engine.ir.types import Dense, Tuple, Type
from engine.ops.spec import OPS, Form, Limit, OpCall, op

__all__ = ["sample_rows"]


def _same(call: OpCall) -> Type:
    return Dense(call["x"].dtype, call["x"].shape)


def _rows(call: OpCall) -> Type:
    return Dense(call["x"].dtype, (call["w"].extents[0], *call["x"].extents[1:]))


def _cast(call: OpCall) -> Type:
    return Dense(str(call.attr("dtype")), call["x"].shape)


def _flat(call: OpCall) -> Type:
    return Dense(call["x"].dtype, (call["x"].elements,))


def _halves(call: OpCall) -> Type:
    extents = call["x"].extents
    half = Dense(call["x"].dtype, (extents[0] // 2, *extents[1:]))
    return Tuple((half, half))


def _joined(call: OpCall) -> Type:
    parts = call.many("xs")
    first = parts[0].extents
    return Dense(parts[0].dtype, (sum(one.extents[0] for one in parts), *first[1:]))


def _declare() -> None:
    op(
        "s_neg",
        "x",
        infer=_same,
        reference=np.negative,
        torch={
            "function": "torch.neg({x})",
            "method": "{x}.neg()",
            "operator": "-{x}",
            "module": Form("{self}({x})", setup=("{self} = nn.Negative()",)),
        },
        mindspore={"function": "ops.neg({x})", "primitive": "ops.Neg()({x})"},
    )
    op(
        "s_mix",
        "x w b?",
        attrs={"rate": (1.0, float("nan"), float("-inf")), "mode": ("same",), "sizes": ((2,), ())},
        infer=_rows,
        requires=lambda call: [(call["w"].rank > 0, "w has no rows")],
        reference=lambda x, w, b, *, rate, mode, sizes: w @ x,
        torch={
            "function": "F.mix({x}, {w}, {b}, rate={rate}, mode={mode}, sizes={sizes})",
            "module": Form(
                "{self}({x})",
                setup=("{self} = nn.Mix({w}.shape[0])", "{self}.weight = nn.Parameter({w})"),
            ),
        },
        mindspore={
            "function": "mint.mix({x}, {w}, {b}, {rate}, {mode}, {sizes})",
            "module": Form("{self}({x})", setup=("{self} = nn.Mix({w})",)),
        },
    )
    op(
        "s_cast",
        "x",
        attrs={"dtype": ("float32", "float16", "bool", "int64", "complex64", "float64")},
        infer=_cast,
        reference=lambda x, *, dtype: x.astype(dtype),
        torch="{x}.to({dtype})",
        mindspore="{x}.astype({dtype})",
    )
    op(
        "s_flat",
        "x",
        infer=_flat,
        reference=lambda x: x.reshape(-1),
        torch="{x}.view(-1)",
        mindspore="{x}.view(-1)",
        views="x",
    )
    op(
        "s_add_",
        "x y",
        infer=_same,
        reference=np.add,
        torch={"method": Form("{x}", before=("{x}.add_({y})",))},
        mindspore={"method": Form("{x}", before=("{x}.add_({y})",))},
        writes="x",
    )
    op(
        "s_halves",
        "x",
        infer=_halves,
        reference=lambda x: tuple(np.split(x, 2)),
        torch="torch.chunk({x}, 2)",
        mindspore=None,
        views="x",
    )
    op(
        "s_join",
        "xs*",
        infer=_joined,
        reference=lambda xs: np.concatenate(xs),
        torch="torch.cat(({xs}))",
        mindspore="ops.cat(({xs}))",
        limits=(
            Limit("mindspore", reason="no kernel for float16", dtypes=("float16",)),
            Limit("torch", reason="another form's", form="method"),
        ),
    )
    op(
        "s_max",
        "x",
        infer=lambda call: Dense(call["x"].dtype, call["x"].shape[:-1]),
        reference=lambda x: x.max(-1),
        torch={
            "function": Form("torch.max({x}, -1)", result="{out}.values"),
            "composed": Form("{x} + {x}", result="{out}[0]"),
            "method": Form("{x}.max(-1)", result="{out}.values + 0 * {out}.indices"),
        },
        mindspore={"function": Form("ops.max({x}, -1)", result="{out}[0]")},
    )


@contextmanager
def sample_rows() -> Iterator[None]:
    """The rows are in `OPS` as long as this is entered."""
    before = dict(OPS)
    _declare()
    try:
        yield
    finally:
        OPS.clear()
        OPS.update(before)
