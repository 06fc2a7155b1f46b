"""Activations: functions, modules, Cells and in-place flags of one idea.

Constructors and functions disagree on defaults in places (nn.GELU of MindSpore approximates,
its leaky_relu has slope 0.2), so attributes are always passed, except in the forms "default".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from engine.ir.graph import Attr, Input
from engine.ir.types import FLOATS, Dense
from engine.ops.families import (
    MINDSPORE_FLOATS,
    Array,
    Forms,
    lifted,
    mindspore_calls,
    no_bfloat16,
    same_type,
    sample,
    torch_calls,
    unary,
)
from engine.ops.spec import Form, Limit, OpCall, Tolerance, op

_SHORT = ("float16", "float32")


def cell(constructor: str, *, dtypes: tuple[str, ...] | None = None) -> Form:
    """A MindSpore Cell."""
    return Form(
        "{self}({x})",
        setup=(f"{{self}} = {constructor}",),
        dtypes=dtypes,
        source=f"mindspore.{constructor.partition('(')[0]}: applies the activation element-wise",
    )


def activation(
    name: str,
    reference: Callable[..., object],
    *,
    torch: Forms,
    mindspore: Forms | None,
    attrs: Mapping[str, tuple[Attr, ...]] | None = None,
    dtypes: tuple[str, ...] = FLOATS,
    domain: tuple[float, float] = (-4.0, 4.0),
    tolerance: Tolerance = Tolerance.TRANSCENDENTAL,
    limits: tuple[Limit, ...] = (),
) -> None:
    unary(
        name,
        reference=reference,
        torch=torch,
        mindspore=mindspore,
        attrs=attrs,
        dtypes=dtypes,
        domain=domain,
        tolerance=tolerance,
        tags=("activation",),
        limits=limits,
    )


def functional(
    leaf: str,
    args: str = "{x}",
    *,
    module: str,
    flag: bool = True,
    keyword: str = "input={x}",
    inplace: str = "",
    more: Forms | None = None,
) -> Forms:
    """Forms of torch.nn.functional: function, keyword, module, and `inplace=True` on a copy."""
    rest = args.partition(", ")[2]
    written = Form(inplace, source=f"F.{leaf}_: in-place version of {leaf}()")
    copy = "{x}.clone()" + (f", {rest}" if rest else "")
    constructor = module[:-1] + (", " if not module.endswith("()") else "") + "inplace=True)"
    flags: dict[str, str | Form] = {
        "inplace": Form(f"F.{leaf}({copy}, inplace=True)", source=f"F.{leaf}: inplace=False"),
        "inplace_module": Form(
            "{self}({x}.clone())",
            setup=(f"{{self}} = {constructor}",),
            source=f"torch.{constructor.partition('(')[0]}: inplace=False",
        ),
    }
    return torch_calls(
        f"F.{leaf}",
        args,
        keyword=keyword,
        method="",
        inplace="",
        module=module,
        more={
            **(flags if flag else {}),
            **({"inplace_function": written} if inplace else {}),
            **(more or {}),
        },
    )


# ----------------------------------------------------------------------------- rectified linear
activation(
    "relu",
    lambda x: np.maximum(x, x.dtype.type(0)),
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.EXACT,
    torch={
        **functional("relu", module="nn.ReLU()"),
        "function_torch": Form("torch.relu({x})", source="F.relu: see torch.nn.ReLU"),
        "method": Form("{x}.relu()", source="torch.Tensor.relu: see torch.nn.functional.relu"),
        "inplace_method": Form("{x}.clone().relu_()", source="torch.relu_: in-place of relu()"),
        "composed": Form("torch.clamp_min({x}, 0)", source="torch.nn.ReLU: max(0, x)"),
        "tensor": Form(
            "torch.maximum({x}, torch.zeros_like({x}))", source="torch.nn.ReLU: max(0, x)"
        ),
    },
    mindspore=mindspore_calls(
        "ops.relu",
        method="",
        primitive="ReLU()",
        mint="mint.nn.functional.relu",
        module="ReLU()",
        dtypes=(*MINDSPORE_FLOATS, "int32", "int64"),
        mint_module=cell("mint.nn.ReLU()"),
        composed=Form("ops.maximum({x}, 0)", source="mindspore.ops.relu: max(input, 0)"),
    ),
)
activation(
    "relu6",
    lambda x: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6)),
    domain=(-2.0, 8.0),
    tolerance=Tolerance.EXACT,
    torch=functional(
        "relu6",
        module="nn.ReLU6()",
        more={"composed": Form("torch.clamp({x}, 0, 6)", source="torch.nn.ReLU6: min(max(0,x),6)")},
    ),
    mindspore=mindspore_calls(
        "ops.relu6",
        method="",
        keyword="x={x}",
        primitive="ReLU6()",
        module="ReLU6()",
        dtypes=_SHORT,
    ),
)


def leaky_relu(x: Array, *, slope: float) -> object:
    return np.where(x > 0, x, x * x.dtype.type(slope))


activation(
    "leaky_relu",
    leaky_relu,
    attrs={"slope": (0.01, 0.2, 0.0, 1.0, -0.5)},
    tolerance=Tolerance.ELEMENTWISE,
    torch=functional(
        "leaky_relu",
        "{x}, {slope}",
        module="nn.LeakyReLU({slope})",
        keyword="input={x}, negative_slope={slope}",
        inplace="F.leaky_relu_({x}.clone(), {slope})",
        more={
            "default": Form(
                "F.leaky_relu({x})", when={"slope": 0.01}, source="F.leaky_relu: slope 0.01"
            )
        },
    ),
    mindspore=mindspore_calls(
        "ops.leaky_relu",
        "{x}, {slope}",
        method="",
        keyword="input={x}, alpha={slope}",
        module="LeakyReLU({slope})",
        default=Form(
            "ops.leaky_relu({x})", when={"slope": 0.2}, source="mindspore.ops.leaky_relu: alpha=0.2"
        ),
    ),
)


def prelu_companions(
    first: Dense, attrs: Mapping[str, Attr]
) -> Mapping[str, Input | tuple[Input, ...]]:
    channels = first.shape[1] if first.rank > 1 else 1
    return {"weight": sample("weight", Dense(first.dtype, (channels,)), seed=1, domain=(0.1, 0.5))}


def prelu_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    x, weight = call["x"], call["weight"]
    channels = x.shape[1] if x.rank > 1 else 1
    yield weight.rank == 1, f"the weight has {weight.rank} dimensions, expected 1"
    yield (
        weight.shape in ((1,), (channels,)),
        f"the weight has shape {weight.shape}, expected 1 or {channels} channels",
    )


def prelu(x: Array, weight: Array) -> object:
    slope = weight.reshape((1, -1) + (1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape(())
    return np.where(x > 0, x, x * slope)


op(
    "prelu",
    "x weight",
    infer=same_type,
    requires=prelu_fits,
    reference=lifted(prelu),
    dtypes=FLOATS,
    companions=prelu_companions,
    shapes=((2, 3, 4), (2, 3), (5,), (2, 3, 4, 5)),
    tags=("activation", "shape-preserving"),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "F.prelu",
        "{x}, {weight}",
        keyword="input={x}, weight={weight}",
        inplace="",
        function_torch=Form("torch.prelu({x}, {weight})", source="F.prelu: see torch.prelu"),
    ),
    mindspore=mindspore_calls(
        "ops.prelu",
        "{x}, {weight}",
        keyword="input={x}, weight={weight}",
        method="",
        primitive="PReLU()",
        mint="mint.nn.functional.prelu",
        dtypes=_SHORT,
    ),
)
activation(
    "threshold",
    lambda x, *, threshold, value: np.where(x <= threshold, x.dtype.type(value), x),
    attrs={"threshold": (0.5, 0, -1.0), "value": (0.0, 2, -3.0)},
    tolerance=Tolerance.EXACT,
    torch=functional(
        "threshold",
        "{x}, {threshold}, {value}",
        module="nn.Threshold({threshold}, {value})",
        keyword="input={x}, threshold={threshold}, value={value}",
        inplace="F.threshold_({x}.clone(), {threshold}, {value})",
        more={
            "function_torch": Form(
                "torch.threshold({x}, {threshold}, {value})", source="F.threshold: the same call"
            )
        },
    ),
    mindspore=mindspore_calls(
        "ops.threshold",
        "{x}, {threshold}, {value}",
        keyword="input={x}, thr={threshold}, value={value}",
        method="",
        module="Threshold({threshold}, {value})",
        dtypes=_SHORT,
    ),
)

# ------------------------------------------------------------------------------ exponential linear
_ALPHA = {"alpha": (1.0, 0.5, 2.0)}


def elu(x: Array, *, alpha: float) -> object:
    return np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(np.minimum(x, x.dtype.type(0))))


activation(
    "elu",
    elu,
    attrs=_ALPHA,
    torch=functional(
        "elu",
        "{x}, {alpha}",
        module="nn.ELU({alpha})",
        keyword="input={x}, alpha={alpha}",
        inplace="F.elu_({x}.clone(), {alpha})",
        more={"default": Form("F.elu({x})", when={"alpha": 1.0}, source="F.elu: alpha=1.0")},
    ),
    mindspore={
        "function": Form(
            "ops.elu({x}, {alpha})", when={"alpha": 1.0}, dtypes=_SHORT, api="ops.elu"
        ),
        "default": Form(
            "ops.elu({x})",
            when={"alpha": 1.0},
            dtypes=_SHORT,
            source="mindspore.ops.elu: alpha=1.0",
        ),
        "primitive": Form(
            "{self}({x})",
            setup=("{self} = ops.Elu({alpha})",),
            when={"alpha": 1.0},
            dtypes=_SHORT,
            source="mindspore.ops.Elu: equivalent to mindspore.ops.elu()",
        ),
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.ELU({alpha})",),
            when={"alpha": 1.0},
            dtypes=_SHORT,
            source="mindspore.nn.ELU: only alpha equal to 1.0",
        ),
    },
)
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def selu(x: Array) -> object:
    scale = x.dtype.type(_SELU_SCALE)
    return scale * np.where(
        x > 0, x, x.dtype.type(_SELU_ALPHA) * np.expm1(np.minimum(x, x.dtype.type(0)))
    )


activation(
    "selu",
    selu,
    torch=functional(
        "selu",
        module="nn.SELU()",
        inplace="torch.selu_({x}.clone())",
        more={"function_torch": Form("torch.selu({x})", source="F.selu: see torch.nn.SELU")},
    ),
    mindspore=mindspore_calls(
        "ops.selu", keyword="input_x={x}", method="", primitive="SeLU()", module="SeLU()"
    ),
)


def celu(x: Array, *, alpha: float) -> object:
    a = x.dtype.type(alpha)
    return np.maximum(x, x.dtype.type(0)) + np.minimum(x.dtype.type(0), a * np.expm1(x / a))


activation(
    "celu",
    celu,
    attrs=_ALPHA,
    torch=functional(
        "celu",
        "{x}, {alpha}",
        module="nn.CELU({alpha})",
        keyword="input={x}, alpha={alpha}",
        inplace="torch.celu_({x}.clone(), {alpha})",
        more={"default": Form("F.celu({x})", when={"alpha": 1.0}, source="F.celu: alpha=1.0")},
    ),
    mindspore=mindspore_calls(
        "ops.celu",
        "{x}, {alpha}",
        keyword="x={x}, alpha={alpha}",
        method="",
        module="CELU({alpha})",
        dtypes=_SHORT,
        default=Form("ops.celu({x})", when={"alpha": 1.0}, source="mindspore.ops.celu: alpha=1.0"),
        primitive_call=Form(
            "{self}({x})",
            setup=("{self} = ops.CeLU({alpha})",),
            source="mindspore.ops.CeLU: equivalent to mindspore.ops.celu()",
        ),
    ),
)

# -------------------------------------------------------------------------------- piecewise linear
_BOUNDS = {"min_val": (-1.0, -2.0, 0.0), "max_val": (1.0, 2.5, 6.0)}


def hardtanh(x: Array, *, min_val: float, max_val: float) -> object:
    return np.minimum(np.maximum(x, x.dtype.type(min_val)), x.dtype.type(max_val))


activation(
    "hardtanh",
    hardtanh,
    attrs=_BOUNDS,
    tolerance=Tolerance.EXACT,
    torch=functional(
        "hardtanh",
        "{x}, {min_val}, {max_val}",
        module="nn.Hardtanh({min_val}, {max_val})",
        keyword="input={x}, min_val={min_val}, max_val={max_val}",
        inplace="F.hardtanh_({x}.clone(), {min_val}, {max_val})",
        more={
            "default": Form(
                "F.hardtanh({x})",
                when={"min_val": -1.0, "max_val": 1.0},
                source="F.hardtanh: min_val=-1, max_val=1",
            ),
            "composed": Form(
                "torch.clamp({x}, {min_val}, {max_val})", source="torch.nn.Hardtanh: the formula"
            ),
        },
    ),
    mindspore=mindspore_calls(
        "ops.hardtanh",
        "{x}, {min_val}, {max_val}",
        keyword="input={x}, min_val={min_val}, max_val={max_val}",
        method="",
        default=Form(
            "ops.hardtanh({x})",
            when={"min_val": -1.0, "max_val": 1.0},
            source="mindspore.ops.hardtanh: min_val=-1.0, max_val=1.0",
        ),
        module_cell=cell("nn.Hardtanh({min_val}, {max_val})", dtypes=_SHORT),
    ),
)


def hardshrink(x: Array, *, lambd: float) -> object:
    # NaN stays, as in eager PyTorch, though the formula's "otherwise" would make it zero.
    return np.where((np.abs(x) > lambd) | np.isnan(x), x, x.dtype.type(0))


def softshrink(x: Array, *, lambd: float) -> object:
    edge = x.dtype.type(lambd)
    inside = np.where(np.isnan(x), x, x.dtype.type(0))
    return np.where(x > edge, x - edge, np.where(x < -edge, x + edge, inside))


_EDGE = {"lambd": (0.5, 1.0, 0.0)}
for _leaf, _rule, _torch_module, _cell_name in (
    ("hardshrink", hardshrink, "Hardshrink", "HShrink"),
    ("softshrink", softshrink, "Softshrink", "SoftShrink"),
):
    activation(
        _leaf,
        _rule,
        attrs=_EDGE,
        tolerance=Tolerance.ELEMENTWISE,
        torch=functional(
            _leaf,
            "{x}, {lambd}",
            module=f"nn.{_torch_module}({{lambd}})",
            flag=False,
            keyword="input={x}, lambd={lambd}" if _leaf == "hardshrink" else "",
            more={
                "default": Form(
                    f"F.{_leaf}({{x}})", when={"lambd": 0.5}, source=f"F.{_leaf}: lambd=0.5"
                )
            },
        ),
        mindspore=mindspore_calls(
            f"ops.{_leaf}",
            "{x}, {lambd}",
            keyword="input={x}, lambd={lambd}",
            method="{x}.hardshrink({lambd})" if _leaf == "hardshrink" else "",
            mint=f"mint.nn.functional.{_leaf}",
            module=f"{_cell_name}({{lambd}})",
            dtypes=_SHORT,
            default=Form(
                f"ops.{_leaf}({{x}})", when={"lambd": 0.5}, source=f"mindspore.ops.{_leaf}: 0.5"
            ),
            mint_module=cell(f"mint.nn.{_torch_module}({{lambd}})"),
            more={
                "primitive": Form(
                    "{self}({x})",
                    setup=(f"{{self}} = ops.{_cell_name}({{lambd}})",),
                    source=f"mindspore.ops.{_cell_name}: equivalent to mindspore.ops.{_leaf}()",
                )
            },
        ),
    )
