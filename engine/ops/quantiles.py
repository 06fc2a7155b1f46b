"""Values by their rank among many: quantiles, the median of all, how often the mode occurs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import Dense
from engine.ops.families import Array, axis_fits, reduced_shape, torch_calls
from engine.ops.reductions import keeps, over
from engine.ops.rules import Requirement, limited, resized, static
from engine.ops.spec import Form, OpCall, Tolerance, op

_WIDE = ("float32", "float64")
_ORDERED = (*_WIDE, "int32", "int64")
_SHAPES = ((2, 3, 4), (5,), (3, 4), (1, 1))


def has_values(call: OpCall) -> Requirement:
    yield 0 not in static(call["x"]), "there is no value to rank"


# ------------------------------------------------------------------------------------- quantiles
def quantile_fits(call: OpCall) -> Requirement:
    yield from axis_fits(call)
    yield from has_values(call)


def quantile_type(call: OpCall) -> Dense:
    x = call["x"]
    return Dense(x.dtype, reduced_shape(x.shape, call.attr("dim"), keep=keeps(call)))


def ranked(rule: Callable[..., object]) -> Callable[..., object]:
    def reference(x: Array, *, q: float, dim: int | None, keepdim: bool, how: str) -> object:
        found = rule(x, q, axis=over(x, dim), keepdims=keepdim, method=how)
        return np.asarray(found).astype(x.dtype)

    return reference


_HOW: tuple[Attr, ...] = ("linear", "lower", "higher", "midpoint", "nearest")
for _name, _rule in (("quantile", np.quantile), ("nanquantile", np.nanquantile)):
    op(
        _name,
        "x",
        # Quarters are exact in every dtype, so that no index is rounded to its neighbour.
        attrs={
            "q": (0.5, 0.25, 0.75, 1.0, 0.0),
            "dim": (-1, 0, None, 1),
            "keepdim": (False, True),
            "how": _HOW,
        },
        dtypes=_WIDE,
        infer=quantile_type,
        requires=quantile_fits,
        reference=ranked(_rule),
        torch=torch_calls(
            f"torch.{_name}",
            "{x}, {q}, {dim}, {keepdim}, interpolation={how}",
            keyword="input={x}, q={q}, dim={dim}, keepdim={keepdim}, interpolation={how}",
            inplace="",
            default=Form(
                f"torch.{_name}({{x}}, {{q}})",
                when={"dim": None, "keepdim": False, "how": "linear"},
                source=f"torch.{_name}: dim=None, keepdim=False, interpolation='linear'",
            ),
            default_interpolation=Form(
                f"torch.{_name}({{x}}, {{q}}, {{dim}}, {{keepdim}})",
                when={"how": "linear"},
                source=f"torch.{_name}: interpolation='linear'",
            ),
            tensor=Form(
                f"torch.{_name}({{x}}, torch.tensor({{q}}, dtype={{x}}.dtype), {{dim}},"
                " {keepdim}, interpolation={how})",
                source=f"torch.{_name}: q (float or Tensor)",
            ),
            tensor_several=Form(
                f"torch.{_name}({{x}}, torch.tensor([{{q}}, 0.5], dtype={{x}}.dtype), {{dim}},"
                " {keepdim}, interpolation={how})",
                result="{out}[0]",
                source=f"torch.{_name}: of a 1D q, the first dimension represents the quantiles",
            ),
        ),
        mindspore=None,
        tolerance=Tolerance.ELEMENTWISE,
        shapes=_SHAPES,
        tags={"reduction", "extreme"},
        doc="MindSpore has none for CPU.",
    )


# --------------------------------------------------------------------------------------- medians
def lower_middle(x: Array) -> object:
    """The lower of the two middle values; NaN where there is one."""
    flat = np.sort(x.reshape(-1))  # NaN sort behind all numbers
    return flat[-1].copy() if flat[-1] != flat[-1] else flat[(flat.size - 1) // 2].copy()


def lower_middle_of_numbers(x: Array) -> object:
    flat = np.sort(x.reshape(-1))
    numbers = flat[flat == flat]
    return lower_middle(numbers) if numbers.size else flat[0].copy()


op(
    "median",
    "x",
    dtypes=_ORDERED,
    infer=lambda call: resized(call["x"], ()),
    requires=has_values,
    reference=lambda x: np.asarray(lower_middle(x)),
    torch=torch_calls(
        "torch.median",
        inplace="",
        composed=Form(
            "torch.median({x}.flatten(), 0).values",
            source="torch.median: the median of all values, as of one flattened row",
        ),
        composed_sort=Form(
            "{x}.flatten().sort().values[({x}.numel() - 1) // 2]",
            source="torch.median: the lower of the two medians where their number is even",
        ),
    ),
    mindspore=limited(
        _ORDERED,
        {
            "primitive": Form(
                "{self}({x})[0]",
                setup=("{self} = ops.Median(global_median=True)",),
                api="ops.Median",
            ),
            "composed": Form(
                "ops.median({x}.reshape(-1), 0)[0]",
                source="mindspore.ops.Median: the median of all elements of the tensor",
            ),
        },
    ),
    tolerance=Tolerance.EXACT,
    shapes=((2, 3, 4), (5,), (3, 4), ()),
    tags={"reduction", "extreme"},
)
op(
    "nanmedian_whole",
    "x",
    dtypes=_ORDERED,
    infer=lambda call: resized(call["x"], ()),
    requires=has_values,
    reference=lambda x: np.asarray(lower_middle_of_numbers(x)),
    torch=torch_calls(
        "torch.nanmedian",
        inplace="",
        composed=Form(
            "torch.nanmedian({x}.flatten(), 0).values",
            source="torch.nanmedian: the median of all values, ignoring NaN",
        ),
    ),
    mindspore=limited(
        _ORDERED,
        {
            "primitive": Form(
                "{self}({x})[0]",
                setup=("{self} = ops.Median(global_median=True, ignore_nan=True)",),
                api="ops.Median",
            ),
            "composed": Form(
                "ops.nanmedian({x}.reshape(-1), 0)[0]",
                source="mindspore.ops.nanmedian: computes the median, ignoring NaN",
            ),
        },
    ),
    tolerance=Tolerance.EXACT,
    shapes=((2, 3, 4), (5,), (3, 4), ()),
    tags={"reduction", "extreme"},
    doc="Over all axes; `nanmedian` goes along one.",
)


# ------------------------------------------------------------------------------------------ mode
def occurrences(x: Array, *, dim: int) -> object:
    """How often the commonest value of each row occurs; no two NaN are equal."""
    rows = np.moveaxis(x, dim, -1)
    return (rows[..., :, None] == rows[..., None, :]).sum(-1).max(-1).astype(np.int64)


def mode_type(call: OpCall) -> Dense:
    x = call["x"]
    return Dense("int64", reduced_shape(x.shape, call.attr("dim"), keep=False))


op(
    "mode_count",
    "x",
    attrs={"dim": (-1, 0, 1)},
    dtypes=(*_ORDERED, "uint8"),
    infer=mode_type,
    requires=lambda call: (*quantile_fits(call), (call["x"].rank > 0, "a scalar has no axis")),
    reference=occurrences,
    torch={
        "function": Form(
            "({x} == torch.mode({x}, {dim}, True).values).sum({dim})", api="torch.mode"
        ),
        "method": Form(
            "({x} == {x}.mode({dim}, True)[0]).sum({dim})",
            source="torch.Tensor.mode: see torch.mode()",
        ),
        "keyword": Form(
            "({x} == torch.mode(input={x}, dim={dim}, keepdim=False)[0].unsqueeze({dim}))"
            ".sum({dim})",
            source="torch.mode: names, keepdim=False",
        ),
        "composed": Form(
            "({x} == {x}.gather({dim}, torch.mode({x}, {dim}, True).indices)).sum({dim})",
            source="torch.mode: indices is the index location of each mode value found",
        ),
    },
    mindspore=None,
    tolerance=Tolerance.EXACT,
    shapes=((2, 3, 4), (5,), (3, 6)),
    domain=(-1.0, 1.0),
    tags={"reduction", "counting"},
    differentiable=False,
    doc="How often the mode occurs: which of several equally common values it is, is free.",
)
