"""Convolutions over one, two and three axes, and transposed convolutions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input
from engine.ir.types import FLOATS, Dense
from engine.ops.numeric import Array, sliding, widened
from engine.ops.operands import weight
from engine.ops.rules import (
    Requirement,
    default,
    has,
    lacks,
    limited,
    many_integers,
    resized,
    shape_of,
    static,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

CPU_FLOATS = ("float32", "float16")
"""What MindSpore's convolution kernels take on CPU."""


# ----------------------------------------------------------------------------------- inference
def convolved(n: int) -> Callable[[OpCall], Dense]:
    def infer(call: OpCall) -> Dense:
        x, w = shape_of(call["x"], n + 2), shape_of(call["w"], n + 2)
        stride, padding, dilation = (
            many_integers(call, name, n) for name in ("stride", "padding", "dilation")
        )
        extents = []
        for at in range(n):
            span = dilation[at] * (w[2 + at] - 1) + 1
            room = x[2 + at] + 2 * padding[at] - span
            if room < 0:
                raise ConstraintViolated(
                    f"conv{n}d: the kernel spans {span} of an axis padded to"
                    f" {x[2 + at] + 2 * padding[at]}"
                )
            extents.append(room // stride[at] + 1)
        return resized(call["x"], (x[0], w[0], *extents))

    return infer


def convolution_fits(n: int) -> Callable[[OpCall], Requirement]:
    def requires(call: OpCall) -> Requirement:
        yield call["x"].rank == n + 2, f"the input has rank {call['x'].rank}, expected {n + 2}"
        yield call["w"].rank == n + 2, f"the weight has rank {call['w'].rank}, expected {n + 2}"
        x, w, groups = static(call["x"]), static(call["w"]), call.integer("groups")
        yield groups > 0, "the number of groups is not positive"
        yield (
            x[1] == w[1] * groups,
            f"the input has {x[1]} channels, weight and groups take {w[1] * groups}",
        )
        yield w[0] % groups == 0, f"{groups} groups do not divide {w[0]} output channels"
        yield 0 not in x and 0 not in w, "the input or the weight is empty"
        for name, low in (("stride", 1), ("padding", 0), ("dilation", 1)):
            yield min(many_integers(call, name, n)) >= low, f"{name} is below {low}"
        if call.has("b"):
            yield static(call["b"]) == w[:1], "the bias does not fit the output channels"

    return requires


def tuple_of(value: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * count
    return value * count if len(value) == 1 else value


# ----------------------------------------------------------------------------------- reference
def convolve(
    x: Array,
    w: Array,
    b: Array | None,
    *,
    stride: int | tuple[int, ...],
    padding: int | tuple[int, ...],
    dilation: int | tuple[int, ...],
    groups: int,
) -> Array:
    """Cross-correlation, summed over the channels of a group and the kernel."""
    n = w.ndim - 2
    steps, gaps = tuple_of(stride, n), tuple_of(dilation, n)
    padded = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in tuple_of(padding, n))))
    windows = sliding(padded, w.shape[2:], steps, gaps)
    if groups == 1:
        kernel_axes = tuple(range(2 + n, 2 + 2 * n))
        taps = np.tensordot(windows, w, axes=((1, *kernel_axes), tuple(range(1, w.ndim))))
        result = np.moveaxis(taps, -1, 1)
    else:
        result = _convolve_groups(windows, w, groups)
    if b is not None:
        result = result + b.reshape(1, -1, *(1,) * n)
    found: Array = result.astype(x.dtype)
    return found


def _convolve_groups(windows: Array, w: Array, groups: int) -> Array:
    """Tap by tap, all groups at once: there are fewer taps than groups, and none is copied.

    `windows`: (batch, channels, *positions, *kernel).
    """
    n = w.ndim - 2
    batch, channels, *rest = windows.shape
    places = rest[:n]
    seen = windows.reshape(batch, groups, channels // groups, *rest)
    kernels = w.reshape(groups, -1, *w.shape[1:])
    total = np.zeros((batch, *kernels.shape[:2], int(np.prod(places))), windows.dtype)
    for tap in itertools.product(*map(range, w.shape[2:])):
        at: Any = (..., *tap)  # the stub knows no tuple of integers
        values = seen[at].reshape(*seen.shape[:3], -1)
        factors = kernels[at]
        # A product of matrices with one column and one row each is slower than their outer product.
        alone = factors.shape[2] == 1
        total += factors[:, :, 0, None] * values if alone else factors @ values
    return total.reshape(batch, -1, *places)


def companions(n: int, kernel: int) -> Callable[[Dense, Mapping[str, Attr]], dict[str, Input]]:
    def found(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
        channels, groups = shape_of(x, n + 2)[1], attrs["groups"]
        assert isinstance(groups, int)
        if channels % groups:
            raise ConstraintViolated(f"{groups} groups do not divide {channels} channels")
        out = groups * max(4 // groups, 1)
        return {
            "w": weight("w", x.dtype, out, channels // groups, *(kernel,) * n, std=0.3),
            "b": weight("b", x.dtype, out, seed=29),
        }

    return found


def plain(**values: Attr) -> Callable[[OpCall], bool]:
    return lambda call: all(call.attrs[name] == value for name, value in values.items())


def whole(*names: str) -> Callable[[OpCall], bool]:
    """A form's condition: these attributes are single integers."""
    return lambda call: all(isinstance(call.attr(name), int) for name in names)


def every(*conditions: Callable[[OpCall], bool]) -> Callable[[OpCall], bool]:
    return lambda call: all(condition(call) for condition in conditions)


# ---------------------------------------------------------------------------------------- rows
def torch_forms(n: int) -> dict[str, str | Form]:
    name = f"conv{n}d"
    layer = (
        f"{{self}} = nn.Conv{n}d({{w}}.shape[1] * {{groups}}, {{w}}.shape[0],"
        " tuple({w}.shape[2:]), stride={stride}, padding={padding}, dilation={dilation},"
        " groups={groups}"
    )
    return {
        "function": f"F.{name}({{x}}, {{w}}, {{b}}, stride={{stride}}, padding={{padding}},"
        " dilation={dilation}, groups={groups})",
        "module": Form(
            "{self}({x})",
            setup=(
                layer + ")",
                "{self}.weight = nn.Parameter({w})",
                "{self}.bias = nn.Parameter({b})",
            ),
            when=has("b"),
            source=f"torch.nn.Conv{n}d: weight of shape (out, in / groups, kernel), bias (out)",
        ),
        "module_nobias": Form(
            "{self}({x})",
            setup=(layer + ", bias=False)", "{self}.weight = nn.Parameter({w})"),
            when=lacks("b"),
            source=f"torch.nn.Conv{n}d: bias=False adds no learnable bias",
        ),
        "function_positional": Form(
            f"torch.{name}({{x}}, {{w}}, {{b}}, {{stride}}, {{padding}}, {{dilation}}, {{groups}})",
            source=f"torch.nn.functional.{name}: documented under torch.{name} too",
        ),
        "keyword": Form(
            f"F.{name}(input={{x}}, weight={{w}}, bias={{b}}, stride={{stride}},"
            " padding={padding}, dilation={dilation}, groups={groups})",
            source=f"torch.nn.functional.{name}",
        ),
        "default": Form(
            f"F.{name}({{x}}, {{w}}, {{b}})",
            when={"stride": 1, "padding": 0, "dilation": 1, "groups": 1},
            source=default(f"torch.nn.functional.{name}", "stride=1, padding=0, dilation=1"),
        ),
        "function_valid": Form(
            f'F.{name}({{x}}, {{w}}, {{b}}, stride={{stride}}, padding="valid",'
            " dilation={dilation}, groups={groups})",
            when={"padding": 0},
            source=f"torch.nn.functional.{name}: padding='valid' is the same as no padding",
        ),
        "function_same": Form(
            f'F.{name}({{x}}, {{w}}, {{b}}, padding="same", dilation={{dilation}},'
            " groups={groups})",
            when=same_padding(n),
            source=f"torch.nn.functional.{name}: 'same' pads so the output has the input's shape",
        ),
        "composed": Form(
            f"F.{name}({{x}}, {{w}}, None, {{stride}}, {{padding}}, {{dilation}}, {{groups}})"
            f" + {{b}}.reshape(-1{', 1' * n})",
            when=has("b"),
            source=f"torch.nn.Conv{n}d: out = bias + sum of cross-correlations",
        ),
    }


def same_padding(n: int) -> Callable[[OpCall], bool]:
    """Whether the padding is the one that 'same' computes: symmetric, with stride 1."""

    def holds(call: OpCall) -> bool:
        kernel = static(call["w"])[2:]
        wanted = tuple(
            d * (k - 1) for d, k in zip(many_integers(call, "dilation", n), kernel, strict=True)
        )
        padding = many_integers(call, "padding", n)
        return many_integers(call, "stride", n) == (1,) * n and wanted == tuple(
            2 * p for p in padding
        )

    return holds


def mindspore_forms(n: int) -> dict[str, Form]:
    name = f"conv{n}d"
    layer = (
        f"{{self}} = nn.Conv{n}d({{w}}.shape[1] * {{groups}}, {{w}}.shape[0],"
        f" {'tuple({w}.shape[2:])' if n > 1 else '{w}.shape[2]'}, stride={{stride}},"
        ' pad_mode="pad", padding={padding}, dilation={dilation}, group={groups},'
        " weight_init={w}, "
    )
    forms: dict[str, str | Form] = {
        "function": f"ops.{name}({{x}}, {{w}}, {{b}}, stride={{stride}},"
        ' pad_mode="pad", padding={padding}, dilation={dilation}, groups={groups})',
        "module": Form(
            "{self}({x})",
            setup=(layer + "has_bias=True, bias_init={b}, dtype={w}.dtype)",),
            when=every(has("b"), whole("padding")),
            source=f"mindspore.nn.Conv{n}d: pad_mode 'pad' pads by padding; weight_init a Tensor",
        ),
        "module_nobias": Form(
            "{self}({x})",
            setup=(layer + "has_bias=False, dtype={w}.dtype)",),
            when=every(lacks("b"), whole("padding")),
            source=f"mindspore.nn.Conv{n}d: has_bias=False adds no bias",
        ),
        "function_valid": Form(
            f"ops.{name}({{x}}, {{w}}, {{b}}, stride={{stride}}, dilation={{dilation}},"
            " groups={groups})",
            when={"padding": 0},
            source=default(f"mindspore.ops.{name}", "pad_mode='valid'"),
        ),
        "default": Form(
            f"ops.{name}({{x}}, {{w}}, {{b}})",
            when={"stride": 1, "padding": 0, "dilation": 1, "groups": 1},
            source=default(f"mindspore.ops.{name}", "stride=1, pad_mode='valid', dilation=1"),
        ),
        "composed": Form(
            f"ops.{name}({{x}}, {{w}}, None, stride={{stride}},"
            ' pad_mode="pad", padding={padding}, dilation={dilation}, groups={groups})'
            f" + {{b}}.reshape((-1{', 1' * n}))",
            when=has("b"),
            source=f"mindspore.ops.{name}: out = bias + sum of cross-correlations",
        ),
    }
    if n == 2:
        forms |= {
            "primitive": Form(
                "ops.Conv2D({w}.shape[0], {w}.shape[2:],"
                ' pad_mode="pad", pad={padding}, stride={stride}, dilation={dilation},'
                " group={groups})({x}, {w})",
                when=every(lacks("b"), whole("padding")),
                source="mindspore.ops.Conv2D: the 2-D convolution behind nn.Conv2d, no bias",
            ),
            "primitive_bias": Form(
                "ops.BiasAdd()(ops.Conv2D({w}.shape[0], {w}.shape[2:],"
                ' pad_mode="pad", pad={padding}, stride={stride}, dilation={dilation},'
                " group={groups})({x}, {w}), {b})",
                when=every(has("b"), whole("padding")),
                source="mindspore.ops.BiasAdd: adds a bias along the channels",
            ),
        }
    if n == 3:
        forms["primitive"] = Form(
            "ops.Conv3D({w}.shape[0], {w}.shape[2:],"
            ' pad_mode="pad", pad={padding}, stride={stride}, dilation={dilation},'
            " group={groups})({x}, {w})",
            when=every(lacks("b"), whole("padding")),
            source="mindspore.ops.Conv3D: the 3-D convolution layer",
        )
    return limited(CPU_FLOATS, forms)


ATTRS: Mapping[int, Mapping[str, tuple[Attr, ...]]] = {
    1: {"stride": (1, 2), "padding": (1, 0), "dilation": (1, 2), "groups": (1, 2, 4)},
    2: {
        "stride": (1, 2, (2, 1)),
        "padding": (1, 0, (0, 1)),
        "dilation": (1, 2),
        "groups": (1, 2, 4),
    },
    3: {"stride": (1, 2), "padding": (0, 1), "dilation": (1,), "groups": (1, 2)},
}
SHAPES: Mapping[int, tuple[tuple[int, ...], ...]] = {
    1: ((2, 4, 9), (1, 4, 6)),
    2: ((2, 4, 7, 6), (1, 4, 5, 5), (1, 1, 6, 6)),
    3: ((1, 2, 4, 5, 4),),
}

for _n in (1, 2, 3):
    op(
        f"conv{_n}d",
        "x w b?",
        attrs=ATTRS[_n],
        dtypes=FLOATS,
        infer=convolved(_n),
        requires=convolution_fits(_n),
        reference=widened(convolve),
        torch=torch_forms(_n),
        mindspore=mindspore_forms(_n),
        tolerance=Tolerance.ACCUMULATING,
        companions=companions(_n, 3),
        shapes=SHAPES[_n],
        tags={"convolution"},
    )


# ---------------------------------------------------------------------------------- transposed
def transposed_type(n: int) -> Callable[[OpCall], Dense]:
    def infer(call: OpCall) -> Dense:
        x, w = shape_of(call["x"], n + 2), shape_of(call["w"], n + 2)
        stride, padding, extra, dilation = (
            many_integers(call, name, n)
            for name in ("stride", "padding", "output_padding", "dilation")
        )
        extents = [
            (x[2 + at] - 1) * stride[at]
            - 2 * padding[at]
            + dilation[at] * (w[2 + at] - 1)
            + extra[at]
            + 1
            for at in range(n)
        ]
        if min(extents) < 1:
            raise ConstraintViolated(f"conv_transpose{n}d: the output {extents} is empty")
        return resized(call["x"], (x[0], w[1] * call.integer("groups"), *extents))

    return infer


def transposed_fits(n: int) -> Callable[[OpCall], Requirement]:
    def requires(call: OpCall) -> Requirement:
        yield call["x"].rank == call["w"].rank == n + 2, f"the operands are not of rank {n + 2}"
        x, w, groups = static(call["x"]), static(call["w"]), call.integer("groups")
        yield x[1] == w[0], f"the input has {x[1]} channels, the weight takes {w[0]}"
        yield groups > 0 and w[0] % groups == 0, f"{groups} groups do not divide the channels"
        yield 0 not in x and 0 not in w, "the input or the weight is empty"
        stride, extra = (many_integers(call, name, n) for name in ("stride", "output_padding"))
        dilation = many_integers(call, "dilation", n)
        yield (
            all(0 <= e < max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)),
            "the output padding is not smaller than stride or dilation",
        )
        if call.has("b"):
            yield static(call["b"]) == (w[1] * groups,), "the bias does not fit"

    return requires


def convolve_transposed(
    x: Array,
    w: Array,
    b: Array | None,
    *,
    stride: int | tuple[int, ...],
    padding: int | tuple[int, ...],
    output_padding: int | tuple[int, ...],
    dilation: int | tuple[int, ...],
    groups: int,
) -> Array:
    """Every input element adds its multiple of the kernel to the output."""
    n = w.ndim - 2
    steps, pads, extra, gaps = (
        tuple_of(one, n) for one in (stride, padding, output_padding, dilation)
    )
    full = [
        (x.shape[2 + at] - 1) * steps[at] + gaps[at] * (w.shape[2 + at] - 1) + extra[at] + 1
        for at in range(n)
    ]
    outputs = []
    for part, kernel in zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True):
        result = np.zeros((x.shape[0], w.shape[1], *full), x.dtype)
        for place in itertools.product(*(range(k) for k in w.shape[2:])):
            window: tuple[Any, ...] = tuple(
                slice(k * g, k * g + (e - 1) * s + 1, s)
                for k, g, e, s in zip(place, gaps, x.shape[2:], steps, strict=True)
            )
            tap = kernel.transpose((*range(2, 2 + n), 0, 1))[place]
            result[(slice(None), slice(None), *window)] += np.moveaxis(
                np.tensordot(part, tap, axes=((1,), (0,))), -1, 1
            )
        outputs.append(result)
    inner = tuple(slice(p, f - p) for p, f in zip(pads, full, strict=True))
    found: Array = np.concatenate(outputs, 1)[(slice(None), slice(None), *inner)]
    if b is not None:
        found = found + b.reshape(1, -1, *(1,) * n)
    return found.astype(x.dtype)


def transposed_companions(n: int) -> Callable[[Dense, Mapping[str, Attr]], dict[str, Input]]:
    def found(x: Dense, attrs: Mapping[str, Attr]) -> dict[str, Input]:
        channels, groups = shape_of(x, n + 2)[1], attrs["groups"]
        assert isinstance(groups, int)
        if channels % groups:
            raise ConstraintViolated(f"{groups} groups do not divide {channels} channels")
        out = max(4 // groups, 1)
        return {
            "w": weight("w", x.dtype, channels, out, *(3,) * n, std=0.3),
            "b": weight("b", x.dtype, out * groups, seed=29),
        }

    return found


def transposed_layer(n: int, framework: str) -> str:
    kernel = "tuple({w}.shape[2:])" if n > 1 else "{w}.shape[2]"
    if framework == "torch":
        return (
            f"{{self}} = nn.ConvTranspose{n}d({{w}}.shape[0], {{w}}.shape[1] * {{groups}},"
            f" {kernel}, {{stride}}, {{padding}}, {{output_padding}}, {{groups}},"
            " dilation={dilation}"
        )
    return (
        f"{{self}} = nn.Conv{n}dTranspose({{w}}.shape[0], {{w}}.shape[1] * {{groups}},"
        f' {kernel}, stride={{stride}}, pad_mode="pad", padding={{padding}},'
        " dilation={dilation}, group={groups}, weight_init={w}, dtype={w}.dtype,"
    )


def transposed_row(n: int) -> None:
    name = f"conv_transpose{n}d"
    torch = f"F.{name}({{x}}, {{w}}, {{b}}, stride={{stride}}, padding={{padding}},"
    layer, cell = transposed_layer(n, "torch"), transposed_layer(n, "mindspore")
    # MindSpore's output_padding appends zeros to the output, PyTorch's enlarges the output.
    cpu = every(whole("stride", "padding", "output_padding", "dilation"), plain(output_padding=0))
    op(
        name,
        "x w b?",
        attrs={
            "stride": (1, 2),
            "padding": (0, 1),
            "output_padding": (0, 1),
            "dilation": (1, 2),
            "groups": (1, 2),
        },
        dtypes=FLOATS,
        infer=transposed_type(n),
        requires=transposed_fits(n),
        reference=widened(convolve_transposed),
        torch={
            "function": torch
            + " output_padding={output_padding}, groups={groups}, dilation={dilation})",
            "module": Form(
                "{self}({x})",
                setup=(
                    layer + ")",
                    "{self}.weight = nn.Parameter({w})",
                    "{self}.bias = nn.Parameter({b})",
                ),
                when=has("b"),
                source=f"torch.nn.ConvTranspose{n}d: weight (in, out / groups, kernel)",
            ),
            "module_nobias": Form(
                "{self}({x})",
                setup=(layer + ", bias=False)", "{self}.weight = nn.Parameter({w})"),
                when=lacks("b"),
                source=f"torch.nn.ConvTranspose{n}d: bias=False adds no learnable bias",
            ),
            "default": Form(
                f"F.{name}({{x}}, {{w}}, {{b}})",
                when=plain(stride=1, padding=0, output_padding=0, dilation=1, groups=1),
                source=default(f"torch.nn.functional.{name}", "stride=1, padding=0"),
            ),
        },
        mindspore=limited(
            CPU_FLOATS,
            {
                "module": Form(
                    "{self}({x})",
                    setup=(cell + " has_bias=True, bias_init={b})",),
                    when=every(has("b"), cpu),
                    source=f"mindspore.nn.Conv{n}dTranspose: pad_mode 'pad', weight_init a Tensor",
                ),
                "module_nobias": Form(
                    "{self}({x})",
                    setup=(cell + " has_bias=False)",),
                    when=every(lacks("b"), cpu),
                    source=f"mindspore.nn.Conv{n}dTranspose: has_bias=False adds no bias",
                ),
            },
        ),
        tolerance=Tolerance.ACCUMULATING,
        companions=transposed_companions(n),
        shapes=((2, 4, 5), (1, 2, 3)) if n == 1 else ((1, 4, 4, 5), (2, 2, 3, 3)),
        tags={"convolution"},
    )


transposed_row(1)
transposed_row(2)
