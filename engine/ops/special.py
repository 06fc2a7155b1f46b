"""Special functions: Bessel, gamma and zeta, and quotients that know what to do with zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from engine.ops.families import (
    ELEMENTWISE_SHAPES,
    MINDSPORE_FLOATS,
    binary,
    companion,
    lifted,
    mindspore_calls,
    promoted_type,
    same_type,
    torch_calls,
    unary,
)
from engine.ops.rules import limited, mindspore_method, mindspore_primitive, torch_method
from engine.ops.spec import Form, Tolerance, op

WIDE = ("float32", "float64")
TRANSCENDENTAL = Tolerance.TRANSCENDENTAL
_XY = "{x}, {y}"


# --------------------------------------------------------------------------------------- Bessel
def _bessel(
    name: str,
    torch: str,
    primitive: str,
    reference: Callable[..., object],
    *,
    domain: tuple[float, float] = (-3.0, 3.0),
    differentiable: bool = True,
) -> None:
    unary(
        name,
        reference=reference,
        infer=same_type,
        dtypes=WIDE,
        domain=domain,
        differentiable=differentiable,
        torch=torch_calls(torch, method="", keyword="", inplace="")
        | {"keyword": Form(f"{torch}(input={{x}})", source=f"{torch}: names")}
        if differentiable
        else {"function": Form(f"{torch}({{x}})", api=torch)},
        mindspore=mindspore_calls(
            f"ops.{name}", keyword="", method="", primitive=f"{primitive}()", dtypes=WIDE
        ),
    )


_POSITIVE = (0.2, 3.0)
_bessel("bessel_i0e", "torch.special.i0e", "BesselI0e", special.i0e)
_bessel("bessel_i1", "torch.special.i1", "BesselI1", special.i1)
_bessel("bessel_i1e", "torch.special.i1e", "BesselI1e", special.i1e)
_bessel("bessel_j0", "torch.special.bessel_j0", "BesselJ0", special.j0, differentiable=False)
_bessel("bessel_j1", "torch.special.bessel_j1", "BesselJ1", special.j1, differentiable=False)
for _order, _first, _second, _scaled in (
    (0, special.y0, special.k0, special.k0e),
    (1, special.y1, special.k1, special.k1e),
):
    for _name, _torch, _primitive, _reference in (
        (f"bessel_y{_order}", f"bessel_y{_order}", f"BesselY{_order}", _first),
        (f"bessel_k{_order}", f"modified_bessel_k{_order}", f"BesselK{_order}", _second),
        (f"bessel_k{_order}e", f"scaled_modified_bessel_k{_order}", f"BesselK{_order}e", _scaled),
    ):
        _bessel(
            _name,
            f"torch.special.{_torch}",
            _primitive,
            _reference,
            domain=_POSITIVE,
            differentiable=False,
        )


# ---------------------------------------------------------------------------------------- gamma
op(
    "polygamma",
    "x",
    attrs={"n": (1, 2, 3)},
    dtypes=WIDE,
    infer=promoted_type,
    reference=lifted(lambda x, n: special.polygamma(n, x)),
    torch={
        "function": "torch.polygamma({n}, {x})",
        "function_special": Form(
            "torch.special.polygamma({n}, {x})",
            source="torch.polygamma: alias for torch.special.polygamma()",
        ),
        "method": Form("{x}.polygamma({n})", source=torch_method("polygamma")),
        "inplace": Form(
            "{x}.clone().polygamma_({n})",
            source="torch.Tensor.polygamma_: in-place version of polygamma()",
        ),
    },
    mindspore=limited(
        WIDE,
        {
            "function": "ops.polygamma(Tensor({n}, ms.int32), {x})",
            "primitive": Form(
                "{self}(Tensor({n}, ms.int32), {x})",
                setup=("{self} = ops.Polygamma()",),
                source=mindspore_primitive("Polygamma", "polygamma"),
            ),
        },
    ),
    tolerance=TRANSCENDENTAL,
    domain=(0.5, 4.0),
    shapes=ELEMENTWISE_SHAPES,
    tags={"elementwise", "shape-preserving"},
)


def _two(
    name: str,
    torch: str,
    reference: Callable[..., object],
    *,
    primitive: str,
    method: bool,
    domain: tuple[float, float],
    aliases: tuple[str, ...] = (),
    differentiable: bool = False,
) -> None:
    binary(
        name,
        reference=reference,
        dtypes=WIDE,
        domain=domain,
        tolerance=TRANSCENDENTAL,
        differentiable=differentiable,
        torch=torch_calls(
            torch,
            _XY,
            method="auto" if method else "",
            keyword="",
            inplace="auto" if method else "",
            aliases=aliases,
        ),
        mindspore=mindspore_calls(
            f"ops.{name}",
            _XY,
            keyword="",
            method="auto" if method else "",
            primitive=f"{primitive}()",
            dtypes=WIDE,
        ),
    )


_two(
    "igamma",
    "torch.igamma",
    special.gammainc,
    primitive="Igamma",
    method=True,
    domain=(0.3, 3.0),
    aliases=("torch.special.gammainc",),
)
_two(
    "igammac",
    "torch.igammac",
    special.gammaincc,
    primitive="Igammac",
    method=True,
    domain=(0.3, 3.0),
    aliases=("torch.special.gammaincc",),
)
_two(
    "zeta",
    "torch.special.zeta",
    special.zeta,
    primitive="Zeta",
    method=False,
    domain=(1.5, 4.0),
)


# ------------------------------------------------------------------------------------ quotients
def _guarded(
    name: str,
    torch: str,
    more: str,
    reference: Callable[..., object],
    source: str,
    *,
    function: str = "",
    method: bool = False,
) -> None:
    """A product or quotient that is zero where one operand is: MindSpore has it, torch composes."""
    camel = "".join(word.capitalize() for word in name.split("_"))
    primitive = Form(
        "{self}({x}, {y})",
        setup=(f"{{self}} = ops.{camel}()",),
        source=f"mindspore.ops.{camel}: {source}",
    )
    mindspore: dict[str, str | Form] = {"primitive": primitive}
    if function:
        mindspore = {
            "function": f"{function}({_XY})",
            "primitive": primitive,
            "keyword": Form(f"{function}(x={{x}}, y={{y}})", source=f"mindspore.{function}: names"),
        }
    if method:
        mindspore["method"] = Form(f"{{x}}.{name}({{y}})", source=mindspore_method(name))
    op(
        name,
        "x y",
        dtypes=("float32", "float64", "float16"),
        infer=same_type,
        requires=lambda call: ((call["x"].shape == call["y"].shape, "the shapes differ"),),
        reference=lifted(reference),
        torch={
            "composed": Form(torch, api="torch.where"),
            "composed_fill": Form(more, source=f"mindspore.ops.{camel}: {source}"),
        },
        mindspore=limited(MINDSPORE_FLOATS, mindspore),
        companions=companion("y"),
        tolerance=Tolerance.ELEMENTWISE,
        shapes=ELEMENTWISE_SHAPES,
        tags={"elementwise", "binary"},
    )


_guarded(
    "xdivy",
    "torch.where({x} == 0, torch.zeros_like({x}), {x} / {y})",
    "({x} / {y}).masked_fill({x} == 0, 0.0)",
    lambda x, y: np.where(x == 0, 0, x / y),
    "divides the first input by the second; zero where x is zero",
    function="ops.xdivy",
    method=True,
)
_guarded(
    "div_no_nan",
    "torch.where({y} == 0, torch.zeros_like({x}), {x} / {y})",
    "({x} / {y}).masked_fill({y} == 0, 0.0)",
    lambda x, y: np.where(y == 0, 0, x / y),
    "a safe division: zero where the denominator is zero",
)
_guarded(
    "mul_no_nan",
    "torch.where({y} == 0, torch.zeros_like({x}), {x} * {y})",
    "({x} * {y}).masked_fill({y} == 0, 0.0)",
    lambda x, y: np.where(y == 0, 0, x * y),
    "x * y, zero where y is zero, whatever x is",
)
binary(
    "squared_difference",
    reference=lambda x, y: (x - y) * (x - y),
    dtypes=("float32", "float64", "float16", "int32", "int64"),
    torch={
        "composed": Form("torch.square({x} - {y})", api="torch.square"),
        "composed_pow": Form("({x} - {y}) ** 2", source="torch.square: input_i ** 2"),
        "composed_loss": Form(
            'F.mse_loss(*torch.broadcast_tensors({x}, {y}), reduction="none")',
            dtypes=("float32", "float64"),
            source="torch.nn.functional.mse_loss: the element-wise squared error",
        ),
    },
    mindspore=limited(
        ("float32", "float64", "float16", "int32", "int64"),
        {
            "primitive": "ops.SquaredDifference()({x}, {y})",
            "composed": Form(
                "ops.square(ops.sub({x}, {y}))",
                source="mindspore.ops.SquaredDifference: (x_i - y_i)^2",
            ),
        },
    ),
)
binary(
    "truncate_div",
    reference=lambda x, y: np.trunc(x / y),
    dtypes=WIDE,
    domain=(0.6, 3.0),
    differentiable=False,
    torch={
        "function": 'torch.div({x}, {y}, rounding_mode="trunc")',
        "composed": Form(
            "torch.trunc({x} / {y})", source="torch.div: 'trunc' rounds the results towards zero"
        ),
    },
    mindspore=mindspore_calls(
        "ops.truncate_div",
        _XY,
        keyword="x={x}, y={y}",
        method="",
        primitive="TruncateDiv()",
        dtypes=WIDE,
    ),
)
