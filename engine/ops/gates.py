"""Activations that weigh their operand smoothly, and their straight-lined cousins."""

from __future__ import annotations

import numpy as np
from scipy import special

from engine.ops.activations import (
    activation,
    cell,
    functional,
)
from engine.ops.families import (
    Array,
    mindspore_calls,
)
from engine.ops.spec import Form, Tolerance

_SHORT = ("float16", "float32")

# --------------------------------------------------------------------------------- smooth gates
_ROOT = float(np.sqrt(2.0 / np.pi))


def gelu(x: Array, *, approximate: str) -> object:
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    if approximate == "tanh":
        inner = x.dtype.type(_ROOT) * (x + x.dtype.type(0.044715) * x * x * x)
        return half * x * (one + np.tanh(inner))
    return half * x * special.erfc(-x * x.dtype.type(np.sqrt(0.5)))


activation(
    "gelu",
    gelu,
    attrs={"approximate": ("none", "tanh")},
    torch=functional(
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
activation(
    "silu",
    lambda x: x * special.expit(x),
    torch=functional(
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
activation(
    "mish",
    lambda x: x * np.tanh(np.logaddexp(x, x.dtype.type(0))),
    torch=functional(
        "mish",
        module="nn.Mish()",
        more={"composed": Form("{x} * torch.tanh(F.softplus({x}))", source="F.mish: the formula")},
    ),
    mindspore=mindspore_calls(
        "ops.mish", keyword="x={x}", method="", primitive="Mish()", module="Mish()"
    ),
)
activation(
    "hardswish",
    lambda x: x * np.clip(x + 3, 0, 6) / 6,
    tolerance=Tolerance.ELEMENTWISE,
    torch=functional(
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
        mint_module=cell("mint.nn.Hardswish()"),
    ),
)
activation(
    "hardsigmoid",
    lambda x: np.clip(x + 3, 0, 6) / 6,
    tolerance=Tolerance.ELEMENTWISE,
    torch=functional("hardsigmoid", module="nn.Hardsigmoid()"),
    mindspore=mindspore_calls(
        "ops.hardsigmoid",
        method="",
        primitive="HSigmoid()",
        mint="mint.nn.functional.hardsigmoid",
        module="HSigmoid()",
        mint_module=cell("mint.nn.Hardsigmoid()"),
    ),
)
activation(
    "logsigmoid",
    special.log_expit,
    torch=functional(
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


activation(
    "softplus",
    softplus,
    attrs={"beta": (1.0, 0.5, 2.0), "threshold": (20.0, 1.0)},
    torch=functional(
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
activation(
    "softsign",
    lambda x: x / (1 + np.abs(x)),
    tolerance=Tolerance.ELEMENTWISE,
    torch=functional(
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
activation(
    "tanhshrink",
    lambda x: x - np.tanh(x),
    torch=functional(
        "tanhshrink",
        module="nn.Tanhshrink()",
        flag=False,
        more={"composed": Form("{x} - torch.tanh({x})", source="F.tanhshrink: x - tanh(x)")},
    ),
    mindspore=mindspore_calls("ops.tanhshrink", method="", module="Tanhshrink()"),
)
