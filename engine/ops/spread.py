"""Reductions to a spread or a length: variance, standard deviation, norms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import FLOATS
from engine.ops.families import (
    MINDSPORE_FLOATS,
    Array,
    Forms,
    has_axes,
    mindspore_calls,
    only,
)
from engine.ops.reductions import (
    enough_for_spread,
    is_given,
    is_single,
    is_whole,
    not_empty,
    over_axes,
    pair_type,
    reduction,
)
from engine.ops.spec import Form, Tolerance

_rule: Callable[..., object]

# ----------------------------------------------------------------------------------------- spread
_CORRECTION: dict[str, tuple[Attr, ...]] = {"correction": (1, 0, 2)}


def _spread(leaf: str) -> Forms:
    """Forms of var and std: `correction` or `unbiased`, by name or left out."""
    named = "dim={dim}, correction={correction}, keepdim={keepdim}"
    return {
        "function": Form(f"torch.{leaf}({{x}}, {named})", api=f"torch.{leaf}"),
        "method": Form(f"{{x}}.{leaf}({named})", source=f"torch.Tensor.{leaf}: see torch.{leaf}()")
        if "_" not in leaf
        else Form(f"torch.{leaf}(input={{x}}, {named})", source=f"torch.{leaf}: names"),
        "keyword_unbiased": Form(
            f"torch.{leaf}({{x}}, dim={{dim}}, unbiased=True, keepdim={{keepdim}})",
            when=lambda call: call.attr("correction") == 1 and is_given(call),
            source=f"torch.{leaf}: unbiased=True is correction=1",
        ),
        "keyword_biased": Form(
            f"torch.{leaf}({{x}}, dim={{dim}}, unbiased=False, keepdim={{keepdim}})",
            when=lambda call: call.attr("correction") == 0 and is_given(call),
            source=f"torch.{leaf}: unbiased=False is correction=0",
        ),
        "default": Form(
            f"torch.{leaf}({{x}}, {{dim}}, keepdim={{keepdim}})",
            when=lambda call: call.attr("correction") == 1 and is_given(call),
            source=f"torch.{leaf}: correction=1",
        ),
        "default_whole": Form(
            f"torch.{leaf}({{x}})",
            when=lambda call: call.attr("correction") == 1 and is_whole(call),
            source=f"torch.{leaf}: over all dimensions with correction=1",
        ),
    }


def _mindspore_spread(leaf: str) -> Forms:
    named = "axis={dim}, ddof={correction}, keepdims={keepdim}"
    return mindspore_calls(
        f"ops.{leaf}",
        f"{{x}}, {named}",
        keyword=f"input={{x}}, {named}",
        method="" if "_" in leaf else f"{{x}}.{leaf}({named})",
        default=Form(
            f"ops.{leaf}({{x}}, {{dim}}, keepdims={{keepdim}})",
            when={"correction": 0},
            source=f"mindspore.ops.{leaf}: ddof=0",
        ),
        default_whole=Form(
            f"ops.{leaf}({{x}})",
            when=lambda call: call.attr("correction") == 0 and is_whole(call),
            source=f"mindspore.ops.{leaf}: over all elements with ddof=0",
        ),
    )


for _leaf, _rule in (("var", np.var), ("std", np.std)):
    reduction(
        _leaf,
        reference=over_axes(
            lambda x, *, axis, keepdims, correction, rule=_rule: rule(
                x, axis=axis, keepdims=keepdims, ddof=correction
            )
        ),
        attrs=_CORRECTION,
        requires=enough_for_spread,
        dtypes=FLOATS,
        shapes=((2, 3, 4), (5,), (2, 1, 3, 2)),
        torch=_spread(_leaf),
        mindspore=_mindspore_spread(_leaf),
    )
    reduction(
        f"{_leaf}_mean",
        reference=over_axes(
            lambda x, *, axis, keepdims, correction, rule=_rule: (
                rule(x, axis=axis, keepdims=keepdims, ddof=correction),
                np.mean(x, axis=axis, keepdims=keepdims),
            )
        ),
        infer=pair_type,
        attrs=_CORRECTION,
        requires=enough_for_spread,
        dtypes=FLOATS,
        shapes=((2, 3, 4), (5,), (2, 1, 3, 2)),
        torch=_spread(f"{_leaf}_mean"),
        mindspore=_mindspore_spread(f"{_leaf}_mean"),
    )


# ------------------------------------------------------------------------------------------ norms
def vector_norm(
    x: Array,
    *,
    axis: tuple[int, ...] | None,
    keepdims: bool,
    ord: float,  # noqa: A002
) -> object:
    """The p-norm of the magnitudes over the axes."""
    size = np.abs(x)
    if ord == float("inf"):
        return np.max(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdims).astype(x.dtype)
    total = np.sum(size ** x.dtype.type(ord), axis=axis, keepdims=keepdims)
    return total ** x.dtype.type(1.0 / ord)


reduction(
    "vector_norm",
    reference=over_axes(vector_norm),
    attrs={"ord": (2, 1, 3, float("inf"), 0.5, 0)},
    requires=not_empty,
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
    torch={
        "function": Form(
            "torch.linalg.vector_norm({x}, {ord}, dim={dim}, keepdim={keepdim})",
            api="torch.linalg.vector_norm",
        ),
        "function_norm": Form(
            "torch.norm({x}, {ord}, dim={dim}, keepdim={keepdim})",
            when=is_given,
            source="torch.norm: the vector norm where p is a number and dim is given",
        ),
        "method": Form(
            "{x}.norm({ord}, {dim}, {keepdim})",
            when=is_given,
            source="torch.Tensor.norm: see torch.norm()",
        ),
        "default": Form(
            "torch.linalg.vector_norm({x}, dim={dim}, keepdim={keepdim})",
            when={"ord": 2},
            source="torch.linalg.vector_norm: ord=2",
        ),
        "function_linalg_norm": Form(
            "torch.linalg.norm({x}, {ord}, {dim}, {keepdim})",
            when=is_single,
            source="torch.linalg.norm: the vector norm where dim is an int",
        ),
    },
    # mindspore.ops.vector_norm: "Tensor of shape (*, n)".
    mindspore={
        name: replace(only(has_axes, one), dtypes=one.dtypes or MINDSPORE_FLOATS)
        for name, one in {
            "function": Form(
                "ops.vector_norm({x}, {ord}, axis={dim}, keepdims={keepdim})",
                api="ops.vector_norm",
            ),
            "function_norm": Form(
                "ops.norm({x}, {ord}, dim={dim}, keepdim={keepdim})",
                when=is_single,
                dtypes=("float16", "float32"),
                source="mindspore.ops.norm: the vector norm where dim is an int",
            ),
            "method": Form(
                "{x}.norm({ord}, {dim}, {keepdim})",
                when=is_single,
                dtypes=("float16", "float32"),
                source="mindspore.Tensor.norm: for details, see mindspore.ops.norm()",
            ),
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.LpNorm({dim}, {ord}, {keepdim})",),
                when=lambda call: is_given(call) and call.attr("ord") in (1, 2, 3),
                dtypes=("float16", "float32"),
                source="mindspore.ops.LpNorm(axis, p, keep_dims): p-norm of a matrix or vector",
            ),
            "default": Form(
                "ops.vector_norm({x}, axis={dim}, keepdims={keepdim})",
                when={"ord": 2},
                source="mindspore.ops.vector_norm: ord=2",
            ),
        }.items()
    },
)
