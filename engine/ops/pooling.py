"""Pooling over windows and to a given size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr
from engine.ir.types import Dense
from engine.ops.numeric import Array, sliding, widened
from engine.ops.rules import (
    MINDSPORE_FLOATS,
    Requirement,
    default,
    limited,
    many_integers,
    resized,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

FLOATS = ("float32", "float64", "float16", "bfloat16")


# ----------------------------------------------------------------------------------- inference
def count(extent: int, kernel: int, stride: int, *, ceil_mode: bool, padding: int = 0) -> int:
    """Number of windows; with `ceil_mode` the last must start inside the input or left padding."""
    room = extent - kernel
    if not ceil_mode:
        return room // stride + 1
    found = -(-room // stride) + 1
    return found - 1 if (found - 1) * stride >= extent - padding else found


def pooled(n: int, *, dilated: bool) -> Callable[[OpCall], Dense]:
    def infer(call: OpCall) -> Dense:
        x = shape_of(call["x"], n + 2)
        kernel, stride, padding = (
            many_integers(call, name, n) for name in ("kernel", "stride", "padding")
        )
        dilation = many_integers(call, "dilation", n) if dilated else (1,) * n
        ceil_mode = bool(call.attrs.get("ceil_mode", False))
        extents = tuple(
            count(
                x[2 + at] + 2 * padding[at],
                dilation[at] * (kernel[at] - 1) + 1,
                stride[at],
                ceil_mode=ceil_mode,
                padding=padding[at],
            )
            for at in range(n)
        )
        if min(extents) < 1:
            raise ConstraintViolated("the window is larger than the padded input")
        return resized(call["x"], (*x[:2], *extents))

    return infer


def pool_fits(n: int, *, dilated: bool) -> Callable[[OpCall], Requirement]:
    def requires(call: OpCall) -> Requirement:
        yield call["x"].rank == n + 2, f"the input has rank {call['x'].rank}, expected {n + 2}"
        shape = static(call["x"])
        yield 0 not in shape, "the input is empty"
        kernel, stride, padding = (
            many_integers(call, name, n) for name in ("kernel", "stride", "padding")
        )
        dilation = many_integers(call, "dilation", n) if dilated else (1,) * n
        yield min(kernel) > 0 and min(stride) > 0 and min(dilation) > 0, "a size is not positive"
        yield (
            all(0 <= p <= k // 2 for p, k in zip(padding, kernel, strict=True)),
            "the padding is more than half of the window",
        )
        yield (
            all(
                d * (k - 1) < e + 2 * p
                for d, k, e, p in zip(dilation, kernel, shape[2:], padding, strict=True)
            ),
            "the window is larger than the padded input",
        )

    return requires


# ---------------------------------------------------------------------------------- reference
def several(value: Any, n: int) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def windows_of(
    x: Array,
    n: int,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    *,
    ceil_mode: bool,
    fill: float,
) -> Array:
    """Windows (N, C, *positions, *kernel) over the padded input."""
    k, s, p, d = (several(one, n) for one in (kernel, stride, padding, dilation))
    sides = [(0, 0), (0, 0)]
    for at in range(n):
        span = d[at] * (k[at] - 1) + 1
        whole = x.shape[2 + at] + 2 * p[at]
        found = count(whole, span, s[at], ceil_mode=ceil_mode, padding=p[at])
        sides.append((p[at], p[at] + max((found - 1) * s[at] + span - whole, 0)))
    padded = np.pad(x, sides, constant_values=fill)
    return sliding(padded, k, s, d)


def max_pool(
    x: Array, *, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Array:
    integer = np.issubdtype(x.dtype, np.integer)
    fill = np.iinfo(x.dtype).min if integer else -np.inf
    windows = windows_of(x, n, kernel, stride, padding, dilation, ceil_mode=ceil_mode, fill=fill)
    found: Array = windows.max(tuple(range(2 + n, 2 + 2 * n)))
    return found


def avg_pool(
    x: Array, *, n: int, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool
) -> Array:
    """Means; a window's padding counts when `include`, the excess of `ceil_mode` never does."""
    p = several(padding, n)
    ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if include:
        ones = np.pad(ones, ((0, 0), (0, 0), *((q, q) for q in p)), constant_values=1)
    over = tuple(range(2 + n, 2 + 2 * n))
    total = windows_of(x, n, kernel, stride, p, 1, ceil_mode=ceil_mode, fill=0).sum(over)
    if include:
        sides = [
            (0, max((t - 1) * s + k - e, 0))
            for t, s, k, e in zip(
                total.shape[2:],
                several(stride, n),
                several(kernel, n),
                ones.shape[2:],
                strict=True,
            )
        ]
        padded = np.pad(ones, ((0, 0), (0, 0), *sides))
        number = sliding(padded, several(kernel, n), several(stride, n), (1,) * n).sum(over)
    else:
        number = windows_of(ones, n, kernel, stride, p, 1, ceil_mode=ceil_mode, fill=0).sum(over)
    found: Array = total / number
    return found.astype(x.dtype)


# --------------------------------------------------------------------------------------- forms
def layer(name: str, **fixed: Attr) -> Callable[[OpCall], bool]:
    return lambda call: all(call.attrs[key] == value for key, value in fixed.items())


def max_forms(n: int) -> tuple[dict[str, str | Form], dict[str, Form]]:
    name = f"max_pool{n}d"
    arguments = (
        "{kernel}, stride={stride}, padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}"
    )
    torch: dict[str, str | Form] = {
        "function": f"F.{name}({{x}}, {arguments})",
        "module": Form(
            f"nn.MaxPool{n}d({arguments})({{x}})", source=f"torch.nn.MaxPool{n}d: see {name}"
        ),
        "keyword": Form(
            f"F.{name}({{x}}, kernel_size={arguments})", source=f"torch.nn.functional.{name}"
        ),
        "default": Form(
            f"F.{name}({{x}}, {{kernel}})",
            when=lambda call: (
                call.attrs["stride"] == call.attrs["kernel"]
                and layer("", padding=0, dilation=1, ceil_mode=False)(call)
            ),
            source=default(f"torch.nn.functional.{name}", "stride is the kernel size"),
        ),
        "function_indices": Form(
            f"F.{name}_with_indices({{x}}, {arguments})[0]",
            source=f"torch.nn.functional.{name}: return_indices also gives the places",
        ),
    }
    pad = ' pad_mode="pad", padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}'
    module = Form(
        f"nn.MaxPool{n}d({{kernel}}, {{stride}},{pad})({{x}})",
        source=f"mindspore.nn.MaxPool{n}d: pad_mode 'pad' pads by padding",
    )
    if n == 1:
        return torch, limited(MINDSPORE_FLOATS, {"module": module})
    mindspore: dict[str, str | Form] = {
        "function": f"ops.{name}({{x}}, {arguments})",
        "module": module,
        "keyword": Form(
            f"ops.{name}({{x}}, kernel_size={arguments})", source=f"mindspore.ops.{name}"
        ),
        "default": Form(
            f"ops.{name}({{x}}, {{kernel}})",
            when=lambda call: (
                call.attrs["stride"] == call.attrs["kernel"]
                and layer("", padding=0, dilation=1, ceil_mode=False)(call)
            ),
            source=default(f"mindspore.ops.{name}", "stride None is the kernel size"),
        ),
        "function_indices": Form(
            f"ops.{name}({{x}}, {arguments}, return_indices=True)[0]",
            source=f"mindspore.ops.{name}: return_indices also gives the places",
        ),
    }
    if n == 2:
        mindspore["primitive"] = Form(
            "ops.MaxPool({kernel}, {stride})({x})",
            when=layer("", padding=0, dilation=1, ceil_mode=False),
            source=default("mindspore.ops.MaxPool", "pad_mode='valid'"),
        )
    if n == 3:
        mindspore["primitive"] = Form(
            "ops.MaxPool3D({kernel}, {stride})({x})",
            when=layer("", padding=0, dilation=1, ceil_mode=False),
            source=default("mindspore.ops.MaxPool3D", "pad_mode='VALID'"),
        )
    return torch, limited(MINDSPORE_FLOATS, mindspore)


def avg_forms(n: int) -> tuple[dict[str, str | Form], dict[str, Form]]:
    name = f"avg_pool{n}d"
    arguments = (
        "{kernel}, stride={stride}, padding={padding}, ceil_mode={ceil_mode},"
        " count_include_pad={include}"
    )
    torch: dict[str, str | Form] = {
        "function": f"F.{name}({{x}}, {arguments})",
        "module": Form(
            f"nn.AvgPool{n}d({arguments})({{x}})", source=f"torch.nn.AvgPool{n}d: see {name}"
        ),
        "keyword": Form(
            f"F.{name}({{x}}, kernel_size={arguments})", source=f"torch.nn.functional.{name}"
        ),
        "default": Form(
            f"F.{name}({{x}}, {{kernel}})",
            when=lambda call: (
                call.attrs["stride"] == call.attrs["kernel"]
                and layer("", padding=0, ceil_mode=False, include=True)(call)
            ),
            source=default(f"torch.nn.functional.{name}", "stride is the kernel size"),
        ),
    }
    mindspore: dict[str, str | Form] = {
        "function": f"ops.{name}({{x}}, {arguments})",
        "module": Form(
            f'nn.AvgPool{n}d({{kernel}}, {{stride}}, pad_mode="pad", padding={{padding}},'
            " ceil_mode={ceil_mode}, count_include_pad={include})({x})",
            source=f"mindspore.nn.AvgPool{n}d: pad_mode 'pad' pads by padding",
        ),
        "keyword": Form(
            f"ops.{name}({{x}}, kernel_size={arguments})", source=f"mindspore.ops.{name}"
        ),
        "default": Form(
            f"ops.{name}({{x}}, {{kernel}}, {{stride}})",
            when=layer("", padding=0, ceil_mode=False, include=True),
            source=default(f"mindspore.ops.{name}", "padding=0, count_include_pad=True"),
        ),
    }
    if n == 3:
        plain = Form(f"ops.{name}({{x}}, {arguments})", dtypes=("float32", "float16"))
        module = mindspore.pop("module")
        mindspore = {
            "function": plain,
            "module": module,
            "primitive": Form(
                'ops.AvgPool3D({kernel}, {stride}, "pad", {padding}, {ceil_mode}, {include})({x})',
                dtypes=("float32", "float16"),
                source="mindspore.ops.AvgPool3D: pad_mode 'pad' pads by pad",
            ),
        }
    if n == 2:
        mindspore["primitive"] = Form(
            "ops.AvgPool({kernel}, {stride})({x})",
            when=layer("", padding=0, ceil_mode=False, include=True),
            source=default("mindspore.ops.AvgPool", "pad_mode='VALID'"),
        )
    return torch, limited(MINDSPORE_FLOATS, mindspore)


SHAPES: Mapping[int, tuple[tuple[int, ...], ...]] = {
    1: ((2, 3, 7), (1, 1, 4)),
    2: ((2, 3, 7, 6), (1, 1, 4, 4)),
    3: ((1, 2, 5, 4, 5),),
}


def max_row(n: int) -> None:
    torch, mindspore = max_forms(n)
    op(
        f"max_pool{n}d",
        "x",
        attrs={
            "kernel": (2, 3),
            "stride": (2, 1, 3),
            "padding": (0, 1),
            "dilation": (1, 2),
            "ceil_mode": (False, True),
        },
        dtypes=FLOATS,
        infer=pooled(n, dilated=True),
        requires=pool_fits(n, dilated=True),
        reference=lambda x, **attrs: max_pool(x, n=n, **attrs),
        torch=torch,
        mindspore=mindspore,
        tolerance=Tolerance.EXACT,
        shapes=SHAPES[n],
        tags={"pooling"},
    )


def avg_row(n: int) -> None:
    torch, mindspore = avg_forms(n)
    op(
        f"avg_pool{n}d",
        "x",
        attrs={
            "kernel": (2, 3),
            "stride": (2, 1, 3),
            "padding": (0, 1),
            "ceil_mode": (False, True),
            "include": (True, False),
        },
        dtypes=FLOATS if n < 3 else ("float32", "float64"),
        infer=pooled(n, dilated=False),
        requires=pool_fits(n, dilated=False),
        reference=widened(lambda x, **attrs: avg_pool(x, n=n, **attrs)),
        torch=torch,
        mindspore=mindspore,
        tolerance=Tolerance.ACCUMULATING,
        shapes=SHAPES[n],
        tags={"pooling"},
    )


for _n in (1, 2, 3):
    max_row(_n)
    avg_row(_n)


# ------------------------------------------------------------------------------------- lp_pool
def lp_pool(x: Array, *, n: int, p: float, kernel: int, stride: int, ceil_mode: bool) -> Array:
    windows = windows_of(x, n, kernel, stride, 0, 1, ceil_mode=ceil_mode, fill=0)
    over = tuple(range(2 + n, 2 + 2 * n))
    found: Array = (np.abs(windows) ** p).sum(over) ** (1 / p)
    return found.astype(x.dtype)


def lp_row(n: int) -> None:
    name = f"lp_pool{n}d"
    arguments = "{p}, {kernel}, {stride}, {ceil_mode}"
    op(
        name,
        "x",
        attrs={
            "p": (2.0, 1.0),
            "kernel": (2, 3),
            "stride": (2, 1),
            "ceil_mode": (False,),
        },
        dtypes=("float32", "float64"),
        infer=lambda call: pooled(n, dilated=False)(
            OpCall(call.types, {**call.attrs, "padding": 0})
        ),
        requires=lambda call: pool_fits(n, dilated=False)(
            OpCall(call.types, {**call.attrs, "padding": 0})
        ),
        reference=lambda x, **attrs: lp_pool(x, n=n, **attrs),
        torch={
            "function": f"F.{name}({{x}}, {arguments})",
            "module": Form(
                f"nn.LPPool{n}d({arguments})({{x}})", source=f"torch.nn.LPPool{n}d: see {name}"
            ),
            "composed": Form(
                f"F.avg_pool{n}d({{x}}.abs(), {{kernel}}, {{stride}}) * {{kernel}} ** {n}",
                when={"p": 1.0, "ceil_mode": False},
                source=f"torch.nn.LPPool{n}d: at p = 1 the sum pooling of magnitudes",
            ),
        },
        mindspore=limited(
            ("float32",),
            {
                "function": f"ops.{name}({{x}}, {arguments})",
                "module": Form(
                    f"nn.LPPool{n}d({arguments})({{x}})",
                    source=f"mindspore.nn.LPPool{n}d: see mindspore.ops.{name}",
                ),
            },
        ),
        tolerance=Tolerance.TRANSCENDENTAL,
        domain=(0.1, 2.0),
        shapes=SHAPES[n],
        tags={"pooling"},
        doc="Over positive values: PyTorch takes a power of the sum, whose sign matters.",
    )


lp_row(1)
lp_row(2)
