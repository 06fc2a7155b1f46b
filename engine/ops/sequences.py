"""Tensors made from numbers: ranges, constants, indices.

None of them reads a tensor. The operand lends an extent (its last, unless the row says otherwise),
as code does that asks a tensor for its shape; its values do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from engine.ir.graph import Attr
from engine.ir.types import Dense, Type, numpy_dtype
from engine.ops.families import Array
from engine.ops.rules import default, mindspore_primitive, resized, static
from engine.ops.spec import Form, OpCall, Tolerance, op

CARRIERS = ("float32", "float64", "float16", "int32", "int64")
SHAPES = ((2, 3, 4), (5,), (1, 1))
FLOATING: tuple[Attr, ...] = ("float32", "float64", "float16")
EXTENT = "{x}.shape[-1]"


def is_lender(call: OpCall) -> Iterator[tuple[bool, str]]:
    shape = static(call["x"])
    yield len(shape) >= 1 and shape[-1] >= 1, "the operand has no last extent to lend"


def is_plane(call: OpCall) -> Iterator[tuple[bool, str]]:
    shape = static(call["x"])
    yield len(shape) >= 2 and 0 not in shape, "the operand has no two extents to lend"


def in_dtype(values: object, dtype: str) -> Array:
    return np.asarray(values).astype(numpy_dtype(dtype))


def row_type(call: OpCall) -> Dense:
    return resized(call["x"], static(call["x"])[-1:], str(call.attr("dtype")))


def lent(
    name: str,
    *,
    reference: Callable[..., object],
    torch: Mapping[str, str | Form],
    mindspore: Mapping[str, str | Form] | None,
    attrs: Mapping[str, tuple[Attr, ...]],
    infer: Callable[[OpCall], Type] = row_type,
    requires: Callable[[OpCall], Iterator[tuple[bool, str]]] = is_lender,
    tolerance: Tolerance = Tolerance.EXACT,
    shapes: tuple[tuple[int, ...], ...] = SHAPES,
) -> None:
    op(
        name,
        "x",
        attrs=attrs,
        dtypes=CARRIERS,
        infer=infer,
        requires=requires,
        reference=reference,
        torch=torch,
        mindspore=mindspore,
        tolerance=tolerance,
        shapes=shapes,
        tags={"creation"},
        differentiable=False,
    )


# -------------------------------------------------------------------------------------- ranges
_SPAN = "{start}, {start} + {step} * {x}.shape[-1], {step}"
_WHOLE: Mapping[str, Attr] = {"start": 0, "step": 1, "dtype": "int64"}


def _steps(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield from is_lender(call)
    floats = [one for one in call.attrs.values() if isinstance(one, float)]
    whole = str(call.attr("dtype")).startswith("int")
    yield not (whole and floats), f"{call.attr('dtype')} cannot hold {floats}"


lent(
    "arange",
    attrs={
        "start": (0, 1, -2, 0.5),
        "step": (1, 2, -1, 0.25),
        "dtype": ("float32", "int64", "int32", "float64", "float16"),
    },
    requires=_steps,
    reference=lambda x, start, step, dtype: in_dtype(
        start + step * np.arange(x.shape[-1], dtype=np.float64), dtype
    ),
    torch={
        "function": f"torch.arange({_SPAN}, dtype={{dtype}})",
        "keyword": Form(
            "torch.arange(start={start}, end={start} + {step} * {x}.shape[-1], step={step},"
            " dtype={dtype})",
            source="torch.arange: names",
        ),
        "default": Form(
            f"torch.arange({EXTENT})",
            when=_WHOLE,
            source="torch.arange: start=0, step=1; int64 where all numbers are integers",
        ),
        "composed": Form(
            "torch.cumsum(torch.full(({x}.shape[-1],), {step}, dtype={dtype}), 0, dtype={dtype})"
            " + ({start} - {step})",
            source="torch.arange: out[i + 1] = out[i] + step",
        ),
    },
    mindspore={
        "function": f"ops.arange({_SPAN}, dtype={{dtype}})",
        "keyword": Form(
            "ops.arange(start={start}, end={start} + {step} * {x}.shape[-1], step={step},"
            " dtype={dtype})",
            source="mindspore.ops.arange: names",
        ),
        "default": Form(
            f"ops.arange({EXTENT})",
            when=_WHOLE,
            source=default("mindspore.ops.arange", "start=0, step=1, dtype=None: int64"),
        ),
        "function_range": Form(
            f"ops.range({_SPAN})",
            when=lambda call: (
                call.attr("dtype") == "int64"
                and all(isinstance(call.attr(one), int) for one in ("start", "step"))
            ),
            source="mindspore.ops.range: from start in increments of step up to end",
        ),
    },
)


def between(x: Array, start: float, end: float, dtype: str) -> Array:
    return in_dtype(np.linspace(start, end, x.shape[-1]), dtype)


lent(
    "linspace",
    attrs={
        "start": (0.0, -1.0, 3),
        "end": (1.0, -2.5, 7),
        "dtype": FLOATING,
    },
    reference=between,
    tolerance=Tolerance.ELEMENTWISE,
    torch={
        "function": f"torch.linspace({{start}}, {{end}}, {EXTENT}, dtype={{dtype}})",
        "keyword": Form(
            f"torch.linspace(start={{start}}, end={{end}}, steps={EXTENT}, dtype={{dtype}})",
            source="torch.linspace: names",
        ),
        "tensor": Form(
            f"torch.linspace(torch.tensor({{start}}), torch.tensor({{end}}), {EXTENT},"
            " dtype={dtype})",
            source="torch.linspace: start, end (float or Tensor); if Tensor, 0-dimensional",
        ),
    },
    mindspore={
        "function": Form(
            f"ops.linspace({{start}}, {{end}}, {EXTENT})",
            when=lambda call: (
                call.attr("dtype") == "float32"
                and all(isinstance(call.attr(one), float) for one in ("start", "end"))
            ),
        ),
        "tensor": Form(
            f"ops.linspace(Tensor({{start}}, {{dtype}}), Tensor({{end}}, {{dtype}}), {EXTENT})",
            source="mindspore.ops.linspace: start, end (Union[Tensor, int, float])",
        ),
        "primitive": Form(
            f"{{self}}(Tensor({{start}}, {{dtype}}), Tensor({{end}}, {{dtype}}), {EXTENT})",
            setup=("{self} = ops.LinSpace()",),
            source=mindspore_primitive("LinSpace", "linspace"),
        ),
    },
)
lent(
    "logspace",
    attrs={
        "start": (0.0, -1.0),
        "end": (1.0, 2.0),
        "base": (10, 2),
        "dtype": FLOATING,
    },
    reference=lambda x, start, end, base, dtype: in_dtype(
        float(base) ** np.linspace(start, end, x.shape[-1]), dtype
    ),
    tolerance=Tolerance.TRANSCENDENTAL,
    torch={
        "function": f"torch.logspace({{start}}, {{end}}, {EXTENT}, {{base}}, dtype={{dtype}})",
        "keyword": Form(
            f"torch.logspace(start={{start}}, end={{end}}, steps={EXTENT}, base={{base}},"
            " dtype={dtype})",
            source="torch.logspace: names",
        ),
    },
    mindspore={
        "function": f"ops.logspace(Tensor({{start}}, ms.float32), Tensor({{end}}, ms.float32),"
        f" {EXTENT}, {{base}}, dtype={{dtype}})",
    },
)


# ------------------------------------------------------------------------------------ constants
def plane_type(call: OpCall) -> Dense:
    return resized(call["x"], static(call["x"])[-2:], str(call.attr("dtype")))


_SIDES = "{x}.shape[-2], {x}.shape[-1]"
_EYE_DTYPES: tuple[Attr, ...] = ("float32", "int64", "float16", "float64", "int32", "bool")
lent(
    "eye",
    attrs={"dtype": _EYE_DTYPES},
    infer=plane_type,
    requires=is_plane,
    reference=lambda x, dtype: in_dtype(np.eye(x.shape[-2], x.shape[-1]), dtype),
    shapes=((2, 3, 4), (3, 3), (1, 2)),
    torch={
        "function": f"torch.eye({_SIDES}, dtype={{dtype}})",
        "keyword": Form(
            "torch.eye(n={x}.shape[-2], m={x}.shape[-1], dtype={dtype})",
            source="torch.eye: names",
        ),
        "default": Form(
            "torch.eye({x}.shape[-2], dtype={dtype})",
            when=lambda call: len(set(static(call["x"])[-2:])) == 1,
            source=default("torch.eye", "m=None: as many columns as rows"),
        ),
        "composed": Form(
            "(torch.arange({x}.shape[-2])[:, None] == torch.arange({x}.shape[-1])).to({dtype})",
            source="torch.eye: ones on the diagonal and zeros elsewhere",
        ),
    },
    mindspore={
        "function": f"ops.eye({_SIDES}, {{dtype}})",
        "keyword": Form(
            "ops.eye(n={x}.shape[-2], m={x}.shape[-1], dtype={dtype})",
            source="mindspore.ops.eye: names",
        ),
        "mint": Form(f"mint.eye({_SIDES}, dtype={{dtype}})", source="mindspore.mint.eye(n, m)"),
        "primitive": Form(
            f"{{self}}({_SIDES}, {{dtype}})",
            setup=("{self} = ops.Eye()",),
            source=mindspore_primitive("Eye", "eye"),
        ),
    },
)


def shaped_type(call: OpCall) -> Dense:
    return resized(call["x"], static(call["x"]), str(call.attr("dtype")))


def _constant(name: str, value: int) -> None:
    """zeros and ones of a shape and a dtype of their own."""
    lent(
        name,
        attrs={"dtype": ("float32", "int64", "float16", "float64", "bool", "int32")},
        infer=shaped_type,
        requires=lambda call: iter(()),
        reference=lambda x, dtype: np.full(x.shape, value, numpy_dtype(dtype)),
        shapes=((2, 3, 4), (5,), (), (0, 3)),
        torch={
            "function": f"torch.{name}({{x}}.shape, dtype={{dtype}})",
            "function_sizes": Form(
                f"torch.{name}(*{{x}}.shape, dtype={{dtype}})",
                when=lambda call: call["x"].rank > 0,
                source=f"torch.{name}: size, a variable number of arguments or a collection",
            ),
            "method": Form(
                f"{{x}}.new_{name}({{x}}.shape, dtype={{dtype}})",
                source=f"torch.Tensor.new_{name}: filled with {value}, in the dtype given",
            ),
            "composed": Form(
                f"torch.full({{x}}.shape, {value}, dtype={{dtype}})",
                source="torch.full: filled with fill_value",
            ),
        },
        mindspore={
            "function": f"ops.{name}({{x}}.shape, {{dtype}})",
            "mint": Form(
                f"mint.{name}({{x}}.shape, dtype={{dtype}})",
                source=f"mindspore.mint.{name}: filled with {value}, of type dtype",
            ),
            "method": Form(
                f"{{x}}.new_{name}({{x}}.shape, dtype={{dtype}})",
                source=f"mindspore.Tensor.new_{name}: filled with {value}, in the dtype given",
            ),
            "primitive": Form(
                f"ops.{name.capitalize()}()({{x}}.shape, {{dtype}})",
                source=mindspore_primitive(name.capitalize(), name),
            ),
            "function_fill": Form(
                f"ops.fill({{dtype}}, {{x}}.shape, {value})",
                source="mindspore.ops.fill(type, shape, value)",
            ),
        },
    )


_constant("zeros", 0)
_constant("ones", 1)


def filled_dtype(value: Attr) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case _:
            return "float32"


def _is_whole(call: OpCall) -> bool:
    return not isinstance(call.attr("value"), float)


lent(
    "full",
    attrs={"value": (2, 1.5, True, -3)},
    infer=lambda call: resized(call["x"], static(call["x"]), filled_dtype(call.attr("value"))),
    requires=lambda call: iter(()),
    reference=lambda x, value: np.full(x.shape, value, numpy_dtype(filled_dtype(value))),
    shapes=((2, 3, 4), (5,), (), (0, 3)),
    torch={
        "function": "torch.full({x}.shape, {value})",
        "keyword": Form(
            "torch.full(size={x}.shape, fill_value={value})", source="torch.full: names"
        ),
        "tensor": Form(
            "torch.tensor({value}).expand({x}.shape).clone()",
            source="torch.full: the tensor's dtype is inferred from fill_value",
        ),
    },
    mindspore={
        # The page's example of ops.full makes whole numbers of 1.2 where no dtype is given.
        "function": Form("ops.full({x}.shape, {value})", when=_is_whole, api="ops.full"),
        "keyword": Form(
            "ops.full(size={x}.shape, fill_value={value})",
            when=_is_whole,
            source="mindspore.ops.full: names",
        ),
        "mint": Form("mint.full({x}.shape, {value})", source="mindspore.mint.full(size, value)"),
    },
)


# -------------------------------------------------------------------------------------- indices
def triangle_type(call: OpCall) -> Dense:
    rows, columns = static(call["x"])[-2:]
    count = len(_triangle(rows, columns, call.integer("offset"), lower=bool(call.attr("lower")))[0])
    return resized(call["x"], (2, count), str(call.attr("dtype")))


def _triangle(rows: int, columns: int, offset: int, *, lower: bool) -> tuple[Array, Array]:
    if lower:
        return np.tril_indices(rows, offset, columns)
    return np.triu_indices(rows, offset, columns)


def _triangles(name: str, *, lower: bool) -> None:
    primitive = f"T{name[1:4]}Indices"

    def infer(call: OpCall) -> Dense:
        return triangle_type(OpCall(call.types, {**call.attrs, "lower": lower}))

    lent(
        name,
        attrs={"offset": (0, 1, -1), "dtype": ("int64", "int32")},
        infer=infer,
        requires=is_plane,
        reference=lambda x, offset, dtype: in_dtype(
            np.stack(_triangle(x.shape[-2], x.shape[-1], offset, lower=lower)), dtype
        ),
        shapes=((2, 3, 4), (3, 3), (4, 2)),
        torch={
            "function": f"torch.{name}({_SIDES}, {{offset}}, dtype={{dtype}})",
            "keyword": Form(
                f"torch.{name}(row={{x}}.shape[-2], col={{x}}.shape[-1], offset={{offset}},"
                " dtype={dtype})",
                source=f"torch.{name}: names",
            ),
            "default": Form(
                f"torch.{name}({_SIDES})",
                when={"offset": 0, "dtype": "int64"},
                source=default(f"torch.{name}", "offset=0, dtype=torch.long"),
            ),
        },
        mindspore={
            "function": f"ops.{name}({_SIDES}, {{offset}}, dtype={{dtype}})",
            "keyword": Form(
                f"ops.{name}(row={{x}}.shape[-2], col={{x}}.shape[-1], offset={{offset}},"
                " dtype={dtype})",
                source=f"mindspore.ops.{name}: names",
            ),
            "default": Form(
                f"ops.{name}({_SIDES})",
                when={"offset": 0, "dtype": "int64"},
                source=default(f"mindspore.ops.{name}", "offset=0, dtype=int64"),
            ),
            "primitive": Form(
                f"ops.{primitive}({_SIDES}, {{offset}}, {{dtype}})()",
                source=mindspore_primitive(primitive, name),
            ),
        },
    )


_triangles("tril_indices", lower=True)
_triangles("triu_indices", lower=False)
