"""Activations: functions, modules, Cells and in-place flags of one idea.

Constructors and functions disagree on defaults in places (nn.GELU of MindSpore approximates,
its leaky_relu has slope 0.2), so attributes are always passed, except in the forms "default".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy import special

from engine.ir.graph import Attr, Input
from engine.ir.types import FLOATS, Dense, Type
from engine.ops.families import (
    MINDSPORE_FLOATS,
    Array,
    Forms,
    lifted,
    mindspore_calls,
    no_bfloat16,
    normalised_axis,
    same_type,
    sample,
    torch_calls,
    unary,
)
from engine.ops.spec import Form, Limit, OpCall, Tolerance, op

_SHORT = ("float16", "float32")


def _cell(constructor: str, *, dtypes: tuple[str, ...] | None = None) -> Form:
    """A MindSpore Cell."""
    return Form(
        "{self}({x})",
        setup=(f"{{self}} = {constructor}",),
        dtypes=dtypes,
        source=f"mindspore.{constructor.partition('(')[0]}: applies the activation element-wise",
    )


def _activation(
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


def _functional(
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
_activation(
    "relu",
    lambda x: np.maximum(x, x.dtype.type(0)),
    dtypes=(*FLOATS, "int32", "int64"),
    tolerance=Tolerance.EXACT,
    torch={
        **_functional("relu", module="nn.ReLU()"),
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
        mint_module=_cell("mint.nn.ReLU()"),
        composed=Form("ops.maximum({x}, 0)", source="mindspore.ops.relu: max(input, 0)"),
    ),
)
_activation(
    "relu6",
    lambda x: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6)),
    domain=(-2.0, 8.0),
    tolerance=Tolerance.EXACT,
    torch=_functional(
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


_activation(
    "leaky_relu",
    leaky_relu,
    attrs={"slope": (0.01, 0.2, 0.0, 1.0, -0.5)},
    tolerance=Tolerance.ELEMENTWISE,
    torch=_functional(
        "leaky_relu",
        "{x}, {slope}",
        module="nn.LeakyReLU({slope})",
        keyword="input={x}, negative_slope={slope}",
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
_activation(
    "threshold",
    lambda x, *, threshold, value: np.where(x > threshold, x, x.dtype.type(value)),
    attrs={"threshold": (0.5, 0, -1.0), "value": (0.0, 2, -3.0)},
    tolerance=Tolerance.EXACT,
    torch=_functional(
        "threshold",
        "{x}, {threshold}, {value}",
        module="nn.Threshold({threshold}, {value})",
        keyword="input={x}, threshold={threshold}, value={value}",
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


_activation(
    "elu",
    elu,
    attrs=_ALPHA,
    torch=_functional(
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


_activation(
    "selu",
    selu,
    torch=_functional(
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


_activation(
    "celu",
    celu,
    attrs=_ALPHA,
    torch=_functional(
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

# --------------------------------------------------------------------------------- smooth gates
_ROOT = float(np.sqrt(2.0 / np.pi))


def gelu(x: Array, *, approximate: str) -> object:
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    if approximate == "tanh":
        inner = x.dtype.type(_ROOT) * (x + x.dtype.type(0.044715) * x * x * x)
        return half * x * (one + np.tanh(inner))
    return half * x * special.erfc(-x * x.dtype.type(np.sqrt(0.5)))


_activation(
    "gelu",
    gelu,
    attrs={"approximate": ("none", "tanh")},
    torch=_functional(
        "gelu",
        "{x}, approximate={approximate}",
        module="nn.GELU({approximate})",
        flag=False,
        keyword="input={x}, approximate={approximate}",
        more={
            "default": Form("F.gelu({x})", when={"approximate": "none"}, source="F.gelu: 'none'"),
            "composed": Form(
                "0.5 * {x} * (1 + torch.erf({x} * 0.7071067811865476))",
                when={"approximate": "none"},
                source="torch.nn.GELU: x * Phi(x)",
            ),
        },
    ),
    mindspore=mindspore_calls(
        "ops.gelu",
        "{x}, approximate={approximate}",
        keyword="input={x}, approximate={approximate}",
        method="",
        default=Form(
            "ops.gelu({x})", when={"approximate": "none"}, source="mindspore.ops.gelu: 'none'"
        ),
        module_exact=Form(
            "{self}({x})",
            setup=("{self} = nn.GELU(approximate=False)",),
            when={"approximate": "none"},
            source="mindspore.nn.GELU: without approximation x * P(X <= x)",
        ),
        module_tanh=Form(
            "{self}({x})",
            setup=("{self} = nn.GELU(approximate=True)",),
            when={"approximate": "tanh"},
            source="mindspore.nn.GELU: with approximation the tanh formula",
        ),
        module_default=Form(
            "{self}({x})",
            setup=("{self} = nn.GELU()",),
            when={"approximate": "tanh"},
            source="mindspore.nn.GELU: approximate=True",
        ),
        primitive_call=Form(
            "{self}({x})",
            setup=("{self} = ops.GeLU()",),
            when={"approximate": "tanh"},
            source="mindspore.ops.GeLU: the tanh formula",
        ),
    ),
)
_activation(
    "silu",
    lambda x: x * special.expit(x),
    torch=_functional(
        "silu",
        module="nn.SiLU()",
        more={"composed": Form("{x} * torch.sigmoid({x})", source="F.silu: x * sigmoid(x)")},
    ),
    mindspore=mindspore_calls(
        "ops.silu",
        method="",
        mint="mint.nn.functional.silu",
        module="SiLU()",
        dtypes=_SHORT,
        composed=Form("{x} * ops.sigmoid({x})", source="mindspore.ops.silu: x * sigmoid(x)"),
    ),
)
_activation(
    "mish",
    lambda x: x * np.tanh(np.logaddexp(x, x.dtype.type(0))),
    torch=_functional(
        "mish",
        module="nn.Mish()",
        more={"composed": Form("{x} * torch.tanh(F.softplus({x}))", source="F.mish: the formula")},
    ),
    mindspore=mindspore_calls(
        "ops.mish", keyword="x={x}", method="", primitive="Mish()", module="Mish()"
    ),
)
_activation(
    "hardswish",
    lambda x: x * np.clip(x + 3, 0, 6) / 6,
    tolerance=Tolerance.ELEMENTWISE,
    torch=_functional(
        "hardswish",
        module="nn.Hardswish()",
        more={
            "composed": Form("{x} * F.relu6({x} + 3) / 6", source="torch.nn.Hardswish: the formula")
        },
    ),
    mindspore=mindspore_calls(
        "ops.hardswish",
        method="",
        primitive="HSwish()",
        mint="mint.nn.functional.hardswish",
        module="HSwish()",
        mint_module=_cell("mint.nn.Hardswish()"),
    ),
)
_activation(
    "hardsigmoid",
    lambda x: np.clip(x + 3, 0, 6) / 6,
    tolerance=Tolerance.ELEMENTWISE,
    torch=_functional("hardsigmoid", module="nn.Hardsigmoid()"),
    mindspore=mindspore_calls(
        "ops.hardsigmoid",
        method="",
        primitive="HSigmoid()",
        mint="mint.nn.functional.hardsigmoid",
        module="HSigmoid()",
        mint_module=_cell("mint.nn.Hardsigmoid()"),
    ),
)
_activation(
    "logsigmoid",
    special.log_expit,
    torch=_functional(
        "logsigmoid",
        module="nn.LogSigmoid()",
        flag=False,
        keyword="",
        more={
            "composed": Form("-F.softplus(-{x})", source="torch.nn.LogSigmoid: log sigmoid(x)"),
        },
    ),
    mindspore=mindspore_calls(
        "ops.logsigmoid", keyword="x={x}", method="", module="LogSigmoid()", dtypes=_SHORT
    ),
)


def softplus(x: Array, *, beta: float, threshold: float) -> object:
    scaled = x * x.dtype.type(beta)
    smooth = np.logaddexp(scaled, x.dtype.type(0)) / x.dtype.type(beta)
    return np.where(scaled > threshold, x, smooth)


_activation(
    "softplus",
    softplus,
    attrs={"beta": (1.0, 0.5, 2.0), "threshold": (20.0, 1.0)},
    torch=_functional(
        "softplus",
        "{x}, {beta}, {threshold}",
        module="nn.Softplus({beta}, {threshold})",
        flag=False,
        keyword="",
        more={
            "default": Form(
                "F.softplus({x})",
                when={"beta": 1.0, "threshold": 20.0},
                source="F.softplus: beta=1, threshold=20",
            )
        },
    ),
    mindspore=mindspore_calls(
        "ops.softplus",
        "{x}, {beta}, {threshold}",
        keyword="input={x}, beta={beta}, threshold={threshold}",
        method="",
        default=Form(
            "ops.softplus({x})",
            when={"beta": 1.0, "threshold": 20.0},
            source="mindspore.ops.softplus: beta=1, threshold=20",
        ),
        primitive_call=Form(
            "{self}({x})",
            setup=("{self} = ops.Softplus()",),
            when={"beta": 1.0, "threshold": 20.0},
            source="mindspore.ops.Softplus: log(1 + exp(x))",
        ),
    ),
)
_activation(
    "softsign",
    lambda x: x / (1 + np.abs(x)),
    tolerance=Tolerance.ELEMENTWISE,
    torch=_functional(
        "softsign",
        module="nn.Softsign()",
        flag=False,
        more={"composed": Form("{x} / (1 + torch.abs({x}))", source="F.softsign: x / (1 + |x|)")},
    ),
    mindspore=mindspore_calls(
        "ops.softsign",
        keyword="x={x}",
        method="",
        primitive="Softsign()",
        module="Softsign()",
        dtypes=_SHORT,
    ),
)
_activation(
    "tanhshrink",
    lambda x: x - np.tanh(x),
    torch=_functional(
        "tanhshrink",
        module="nn.Tanhshrink()",
        flag=False,
        more={"composed": Form("{x} - torch.tanh({x})", source="F.tanhshrink: x - tanh(x)")},
    ),
    mindspore=mindspore_calls("ops.tanhshrink", method="", module="Tanhshrink()"),
)

# -------------------------------------------------------------------------------- piecewise linear
_BOUNDS = {"min_val": (-1.0, -2.0, 0.0), "max_val": (1.0, 2.5, 6.0)}


def hardtanh(x: Array, *, min_val: float, max_val: float) -> object:
    return np.minimum(np.maximum(x, x.dtype.type(min_val)), x.dtype.type(max_val))


_activation(
    "hardtanh",
    hardtanh,
    attrs=_BOUNDS,
    tolerance=Tolerance.EXACT,
    torch=_functional(
        "hardtanh",
        "{x}, {min_val}, {max_val}",
        module="nn.Hardtanh({min_val}, {max_val})",
        keyword="input={x}, min_val={min_val}, max_val={max_val}",
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
        module_cell=_cell("nn.Hardtanh({min_val}, {max_val})", dtypes=_SHORT),
    ),
)


def hardshrink(x: Array, *, lambd: float) -> object:
    return np.where(np.abs(x) > lambd, x, x.dtype.type(0))


def softshrink(x: Array, *, lambd: float) -> object:
    edge = x.dtype.type(lambd)
    return np.where(x > edge, x - edge, np.where(x < -edge, x + edge, x.dtype.type(0)))


_EDGE = {"lambd": (0.5, 1.0, 0.0)}
for _leaf, _rule, _torch_module, _cell_name in (
    ("hardshrink", hardshrink, "Hardshrink", "HShrink"),
    ("softshrink", softshrink, "Softshrink", "SoftShrink"),
):
    _activation(
        _leaf,
        _rule,
        attrs=_EDGE,
        tolerance=Tolerance.ELEMENTWISE,
        torch=_functional(
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
            mint_module=_cell(f"mint.nn.{_torch_module}({{lambd}})"),
            more={
                "primitive": Form(
                    "{self}({x})",
                    setup=(f"{{self}} = ops.{_cell_name}({{lambd}})",),
                    source=f"mindspore.ops.{_cell_name}: equivalent to mindspore.ops.{_leaf}()",
                )
            },
        ),
    )


# -------------------------------------------------------------------------------------- along axes
def axis_exists(call: OpCall) -> Iterator[tuple[bool, str]]:
    rank, dim = max(call["x"].rank, 1), call.integer("dim")
    yield -rank <= dim < rank, f"axis {dim} does not exist in {call['x'].rank} dimensions"


def softmax(x: Array, *, dim: int) -> object:
    shifted = np.exp(x - _most(x, dim))
    return shifted / np.sum(shifted, axis=dim if x.ndim else None, keepdims=True)


def log_softmax(x: Array, *, dim: int) -> object:
    shifted = x - _most(x, dim)
    total = np.sum(np.exp(shifted), axis=dim if x.ndim else None, keepdims=True)
    return shifted - np.log(total)


def _most(x: Array, dim: int) -> Array:
    axis = dim if x.ndim else None
    return np.max(x, axis=axis, keepdims=True, initial=-np.inf)  # type: ignore[no-any-return]


def softmin(x: Array, *, dim: int) -> object:
    return softmax(-x, dim=dim)


def _along(
    name: str,
    reference: Callable[..., object],
    *,
    torch: Forms,
    mindspore: Forms,
) -> None:
    op(
        name,
        "x",
        attrs={"dim": (-1, 0, 1, 2, -2)},
        infer=same_type,
        requires=axis_exists,
        reference=lifted(reference),
        dtypes=FLOATS,
        tolerance=Tolerance.TRANSCENDENTAL,
        domain=(-4.0, 4.0),
        shapes=((2, 3, 4), (5,), (), (1, 1), (0, 3), (2, 3, 4, 2)),
        tags=("activation", "normalisation", "shape-preserving"),
        limits=no_bfloat16(FLOATS),
        torch=torch,
        mindspore=mindspore,
    )


def _torch_along(leaf: str, module: str, more: Forms) -> Forms:
    return torch_calls(
        f"F.{leaf}",
        "{x}, dim={dim}",
        keyword="input={x}, dim={dim}",
        method="" if leaf == "softmin" else f"{{x}}.{leaf}({{dim}})",
        inplace="",
        module=f"nn.{module}(dim={{dim}})",
        more=more,
    )


_along(
    "softmax",
    softmax,
    torch=_torch_along(
        "softmax",
        "Softmax",
        {
            "function_torch": Form("torch.softmax({x}, {dim})", source="torch.softmax: alias"),
            "function_special": Form(
                "torch.special.softmax({x}, {dim})", source="torch.special.softmax"
            ),
        },
    ),
    mindspore=mindspore_calls(
        "ops.softmax",
        "{x}, {dim}",
        keyword="input={x}, axis={dim}",
        method="{x}.softmax({dim})",
        mint="mint.nn.functional.softmax",
        module="Softmax({dim})",
        default=Form("ops.softmax({x})", when={"dim": -1}, source="mindspore.ops.softmax: axis=-1"),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Softmax({dim})",),
                source="mindspore.ops.Softmax: see mindspore.ops.softmax()",
            )
        },
    ),
)
_along(
    "log_softmax",
    log_softmax,
    torch=_torch_along(
        "log_softmax",
        "LogSoftmax",
        {
            "function_torch": Form(
                "torch.log_softmax({x}, {dim})", source="torch.log_softmax: F.log_softmax"
            ),
            "composed": Form(
                "torch.log(torch.softmax({x}, {dim}))", source="F.log_softmax: log(softmax(x))"
            ),
        },
    ),
    mindspore=mindspore_calls(
        "ops.log_softmax",
        "{x}, {dim}",
        keyword="logits={x}, axis={dim}",
        method="",
        module="LogSoftmax({dim})",
        dtypes=_SHORT,
        default=Form(
            "ops.log_softmax({x})", when={"dim": -1}, source="mindspore.ops.log_softmax: axis=-1"
        ),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.LogSoftmax({dim})",),
                source="mindspore.ops.LogSoftmax: equivalent to mindspore.ops.log_softmax()",
            )
        },
    ),
)
_along(
    "softmin",
    softmin,
    torch=_torch_along(
        "softmin",
        "Softmin",
        {"composed": Form("F.softmax(-{x}, dim={dim})", source="F.softmin: softmax(-x)")},
    ),
    mindspore=mindspore_calls(
        "ops.softmin",
        "{x}, {dim}",
        keyword="x={x}, axis={dim}",
        method="",
        module="Softmin({dim})",
        dtypes=_SHORT,
        composed=Form("ops.softmax(-{x}, {dim})", source="mindspore.ops.softmin: softmax(-x)"),
    ),
)


def glu_type(call: OpCall) -> Type:
    x = call["x"]
    axis = normalised_axis(call.integer("dim"), x.rank)
    return Dense(x.dtype, (*x.shape[:axis], x.extents[axis] // 2, *x.shape[axis + 1 :]))


def glu_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    x, dim = call["x"], call.integer("dim")
    exists = -x.rank <= dim < x.rank
    yield exists, f"axis {dim} does not exist in {x.rank} dimensions"
    if exists:
        extent = x.extents[dim]
        yield extent % 2 == 0, f"axis {dim} has extent {extent}, expected an even one"


def glu(x: Array, *, dim: int) -> object:
    kept, gate = np.split(x, 2, axis=dim)
    return kept * special.expit(gate)


op(
    "glu",
    "x",
    attrs={"dim": (-1, 0, 1, -2)},
    infer=glu_type,
    requires=glu_fits,
    reference=lifted(glu),
    dtypes=FLOATS,
    tolerance=Tolerance.TRANSCENDENTAL,
    shapes=((2, 6, 4), (4,), (2, 2), (0, 4)),
    tags=("activation",),
    limits=no_bfloat16(FLOATS),
    torch=torch_calls(
        "F.glu",
        "{x}, {dim}",
        keyword="input={x}, dim={dim}",
        method="",
        inplace="",
        module="nn.GLU({dim})",
        default=Form("F.glu({x})", when={"dim": -1}, source="F.glu: dim=-1"),
    ),
    mindspore=mindspore_calls(
        "ops.glu",
        "{x}, {dim}",
        keyword="x={x}, axis={dim}",
        method="",
        mint="mint.nn.functional.glu",
        module="GLU({dim})",
        mint_module=_cell("mint.nn.GLU({dim})"),
        default=Form("ops.glu({x})", when={"dim": -1}, source="mindspore.ops.glu: axis=-1"),
        more={
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.GLU({dim})",),
                source="mindspore.ops.GLU: see mindspore.ops.glu()",
            )
        },
    ),
)
