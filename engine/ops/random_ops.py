"""Operators that draw: switched off they are compared by value, switched on by type alone.

The frameworks promise no common stream, so a row tagged "random" has a reference of its own values:
only shape and dtype of the answers are comparable.
"""

from __future__ import annotations

import numpy as np

from engine.ir.types import Dense
from engine.ops.numeric import Array
from engine.ops.rules import (
    Requirement,
    default,
    limited,
    resized,
    same_as_first,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

EXACT = Tolerance.EXACT
FLOATS = ("float32", "float64", "float16")


def kept(x: Array, p: float) -> Array:
    """A draw that keeps every second value."""
    flat = np.arange(x.size).reshape(x.shape) % 2 == 0
    found: Array = np.where(flat, x / x.dtype.type(1 - p), 0).astype(x.dtype)
    return found


# ----------------------------------------------------------------------------- in evaluation
def off_row(
    name: str, layer: str, axes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]
) -> None:
    """Dropout that is switched off: the identity."""
    mindspore: dict[str, str | Form] = {
        "function": f"ops.{name}({{x}}, p={{p}}, training=False)",
        "module": Form(
            "{self}({x})",
            setup=(f"{{self}} = nn.{layer}(p={{p}}).set_train(False)",),
            source=f"mindspore.nn.{layer}: in evaluation the input is returned",
        ),
    }
    op(
        f"{name}_eval",
        "x",
        attrs={"p": (0.5, 0.0, 0.9)},
        dtypes=FLOATS,
        infer=same_as_first,
        requires=lambda call: (
            (not axes or call["x"].rank in axes, f"the input has rank {call['x'].rank}"),
        ),
        reference=lambda x, p: x.copy(),
        torch={
            "function": f"F.{name}({{x}}, {{p}}, training=False)",
            "module": Form(
                "{self}({x})",
                setup=(f"{{self}} = nn.{layer}({{p}}).eval()",),
                source=f"torch.nn.{layer}: in evaluation the module computes the identity",
            ),
            "keyword": Form(
                f"F.{name}({{x}}, p={{p}}, training=False, inplace=False)",
                source=default(f"torch.nn.functional.{name}", "inplace=False"),
            ),
        },
        mindspore=None if name == "alpha_dropout" else limited(FLOATS, mindspore),
        tolerance=EXACT,
        shapes=shapes,
        tags={"dropout", "shape-preserving"},
    )


off_row("dropout", "Dropout", (), ((2, 3, 4), (5,), (0, 3)))
off_row("dropout2d", "Dropout2d", (4,), ((2, 3, 4, 2), (1, 1, 2, 2)))
off_row("dropout1d", "Dropout1d", (3,), ((2, 3, 4), (1, 1, 2)))
off_row("alpha_dropout", "AlphaDropout", (), ((2, 3, 4), (5,)))


# -------------------------------------------------------------------------------- nothing drawn
op(
    "dropout_none",
    "x",
    dtypes=FLOATS,
    infer=same_as_first,
    reference=lambda x: x.copy(),
    torch={
        "function": "F.dropout({x}, 0.0, training=True)",
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.Dropout(0.0).train()",),
            source="torch.nn.Dropout: zeroes elements with probability p, scales by 1 / (1 - p)",
        ),
    },
    mindspore=limited(
        FLOATS,
        {
            "function": "ops.dropout({x}, p=0.0, training=True)",
            "module": Form(
                "{self}({x})",
                setup=("{self} = nn.Dropout(p=0.0).set_train()",),
                source="mindspore.nn.Dropout: p is the probability of being set to 0",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (5,)),
    tags={"dropout", "shape-preserving"},
    doc="In training with probability 0: nothing is dropped and nothing scaled.",
)


# ------------------------------------------------------------------------------------- drawn
op(
    "dropout",
    "x",
    attrs={"p": (0.5, 0.1), "seed": (0, 7)},
    dtypes=("float32", "float16"),
    infer=same_as_first,
    reference=lambda x, p, seed: kept(x, p),
    torch={
        "function": Form(
            "F.dropout({x}, {p}, training=True)", before=("torch.manual_seed({seed})",)
        ),
        "module": Form(
            "{self}({x})",
            setup=("{self} = nn.Dropout({p}).train()",),
            before=("torch.manual_seed({seed})",),
            source="torch.nn.Dropout: see torch.nn.functional.dropout",
        ),
    },
    mindspore=limited(
        ("float32", "float16"),
        {
            "function": "ops.dropout({x}, p={p}, training=True, seed={seed})",
            "primitive": Form(
                "ops.Dropout(keep_prob=1 - {p}, Seed0={seed}, Seed1={seed})({x})[0]",
                source="mindspore.ops.Dropout: keep_prob is the probability of being kept",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (5,)),
    tags={"random", "dropout", "shape-preserving"},
    random=True,
    differentiable=False,
)

op(
    "bernoulli",
    "x",
    attrs={"p": (0.5, 0.0, 1.0), "seed": (0, 7)},
    dtypes=("float32", "float64"),
    infer=same_as_first,
    reference=lambda x, p, seed: np.full(x.shape, float(p >= 0.5), x.dtype),
    torch={
        "method": Form("torch.bernoulli({x}, {p})", before=("torch.manual_seed({seed})",)),
        "inplace": Form(
            "{x}.clone().bernoulli_({p})",
            before=("torch.manual_seed({seed})",),
            source="torch.Tensor.bernoulli_: fills with independent samples of probability p",
        ),
    },
    mindspore=limited(
        ("float32", "float64"),
        {"function": "ops.bernoulli({x}, {p}, seed={seed} + 1)"},
    ),
    tolerance=EXACT,
    shapes=((2, 3, 4), (5,)),
    tags={"random", "shape-preserving"},
    random=True,
    differentiable=False,
)


def drawn_row(name: str, like: str, mindspore: dict[str, str | Form]) -> None:
    """Samples of a distribution in the type of the operand, from an explicit seed."""
    op(
        name,
        "x",
        attrs={"seed": (0, 7)},
        dtypes=("float32", "float64"),
        infer=same_as_first,
        reference=lambda x, seed: np.full(x.shape, 0.5, x.dtype),
        torch={
            "function": Form(f"torch.{like}({{x}})", before=("torch.manual_seed({seed})",)),
            "function_shape": Form(
                f"torch.{like[:-5]}({{x}}.shape, dtype={{x}}.dtype)",
                before=("torch.manual_seed({seed})",),
                source=f"torch.{like}: equivalent to {like[:-5]} of the size and dtype",
            ),
        },
        mindspore=limited(("float32",), mindspore),
        tolerance=EXACT,
        shapes=((2, 3, 4), (5,)),
        tags={"random", "shape-preserving"},
        random=True,
        differentiable=False,
    )


drawn_row(
    "rand_like",
    "rand_like",
    {
        "composed": "ops.uniform({x}.shape, Tensor(0.0, ms.float32), Tensor(1.0, ms.float32),"
        " seed={seed})",
    },
)
drawn_row(
    "randn_like",
    "randn_like",
    {
        "function": "ops.randn_like({x}, seed={seed})",
        "composed": Form(
            "ops.standard_normal({x}.shape, seed={seed})",
            source="mindspore.ops.standard_normal: random numbers of the normal distribution",
        ),
    },
)


def permuted_type(call: OpCall) -> Dense:
    return resized(call["x"], static(call["x"])[:1], "int64")


def has_rows(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no rows to permute"


def torch_seeded(text: str, source: str = "") -> Form:
    return Form(text, before=("torch.manual_seed({seed})",), source=source)


op(
    "randperm",
    "x",
    attrs={"seed": (0, 7)},
    dtypes=("float32", "int64"),
    infer=permuted_type,
    requires=has_rows,
    reference=lambda x, seed: np.arange(x.shape[0]),
    torch={
        "function": torch_seeded("torch.randperm({x}.shape[0])"),
        "keyword": torch_seeded(
            "torch.randperm(n={x}.shape[0], dtype=torch.int64)",
            default("torch.randperm", "dtype=torch.int64"),
        ),
    },
    mindspore=limited(
        ("float32", "int64"),
        {
            "function": "ops.randperm({x}.shape[0], {seed}, 0)",
            "keyword": Form(
                "ops.randperm({x}.shape[0], seed={seed}, offset=1, dtype=ms.int64)",
                source="mindspore.ops.randperm(n, seed=0, offset=0, dtype=int64)",
            ),
        },
    ),
    tolerance=EXACT,
    shapes=((4, 2), (5,)),
    tags={"random"},
    random=True,
    differentiable=False,
)


op(
    "randperm_sorted",
    "x",
    attrs={"seed": (0, 7)},
    dtypes=("float32", "int64"),
    infer=permuted_type,
    requires=has_rows,
    reference=lambda x, seed: np.arange(x.shape[0]),
    torch={
        "composed": torch_seeded("torch.sort(torch.randperm({x}.shape[0])).values"),
        "composed_argsort": torch_seeded(
            "torch.argsort(torch.argsort(torch.randperm({x}.shape[0]))).sort().values",
            "torch.randperm: a random permutation of integers from 0 to n - 1",
        ),
    },
    mindspore=limited(
        ("float32", "int64"),
        {
            "composed": "ops.sort(ops.randperm({x}.shape[0], {seed}, 0).astype(ms.float32))[0]"
            ".astype(ms.int64)",
        },
    ),
    tolerance=EXACT,
    shapes=((4, 2), (5,)),
    tags={"sorted-draw"},
    differentiable=False,
    doc="A property of every draw, so that it can be compared by value.",
)
