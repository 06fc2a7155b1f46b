"""Discrete Fourier transforms: over one axis, over two, over several, of real and complex values.

The vocabulary has complex64 alone, so real operands are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import fft

from engine.ir.graph import Attr
from engine.ir.types import COMPLEX, Dense
from engine.ops.families import Array, mindspore_calls, torch_calls
from engine.ops.rules import Requirement, axis, limited, normal_axes, resized, static
from engine.ops.spec import Form, OpCall, Tolerance, op

_SHAPES = ((2, 3, 4), (5,), (3, 6), (1, 2, 2))
_NORMS: tuple[Attr, ...] = ("backward", "ortho", "forward")
_BOTH = ("float32", *COMPLEX)
_SPECTRUM = {"rfft": "complex64", "ihfft": "complex64", "irfft": "float32", "hfft": "float32"}
_HALVES = ("rfft", "ihfft")
_DOUBLES = ("irfft", "hfft")


def kind(name: str) -> str:
    """The transform over one axis: rfft of rfft2 and rfftn."""
    return f"{name.rstrip('2n')}" if name.endswith(("2", "n")) else name


def axes(call: OpCall) -> tuple[int, ...]:
    """The axes of the transform, counted from the front."""
    dim = call.attr("dim")
    if isinstance(dim, int):
        return (axis(dim, call["x"].rank),)
    if dim is None:
        return tuple(range(call["x"].rank))
    return normal_axes(call.integers("dim"), call["x"].rank)


def lengths(name: str, call: OpCall) -> tuple[int, ...]:
    """How many points each axis has in the full signal."""
    given, shape = call.attr("n"), static(call["x"])
    if isinstance(given, int):
        return (given,)
    if isinstance(given, tuple):
        return call.integers("n")
    sizes = [shape[at] for at in axes(call)]
    if kind(name) in _DOUBLES:
        sizes[-1] = 2 * (sizes[-1] - 1)
    return tuple(sizes)


def transform_fits(name: str) -> Callable[[OpCall], Requirement]:
    def needs(call: OpCall) -> Requirement:
        yield call["x"].rank > 0, "a scalar has no axis to transform"
        yield 0 not in static(call["x"]), "there is no value to transform"
        over = axes(call)
        given = call.attr("n")
        if isinstance(given, tuple):
            yield len(given) == len(over), f"{len(given)} lengths for {len(over)} axes"
        yield min(lengths(name, call), default=1) > 0, "the signal has no points"

    return needs


def transformed(name: str) -> Callable[[OpCall], Dense]:
    def infer(call: OpCall) -> Dense:
        shape = list(static(call["x"]))
        for at, length in zip(axes(call), lengths(name, call), strict=True):
            shape[at] = length
        if kind(name) in _HALVES:
            shape[axes(call)[-1]] = shape[axes(call)[-1]] // 2 + 1
        return resized(call["x"], shape, _SPECTRUM.get(kind(name), "complex64"))

    return infer


def reference(name: str) -> Callable[..., object]:
    """SciPy's transform, in double precision."""
    rule = getattr(fft, name)
    over, size = ("axis", "n") if kind(name) == name else ("axes", "s")
    dtype = _SPECTRUM.get(kind(name), "complex64")

    def compute(x: Array, *, n: Attr, dim: Attr, norm: str) -> object:
        wide = x.astype("complex128" if x.dtype.kind == "c" else "float64")
        return np.asarray(rule(wide, **{size: n, over: dim, "norm": norm})).astype(dtype)

    return compute


# ----------------------------------------------------------------------------------------- forms
def plain(dim: Attr) -> Mapping[str, Attr]:
    return {"n": None, "dim": dim, "norm": "backward"}


def with_size(name: str, count: int) -> Mapping[str, str | Form]:
    """MindSpore's one primitive for the transforms of the last axes."""
    inverse, real = name.startswith("i"), name.strip("i").startswith("r")
    last: Attr = -1 if count == 1 else (-2, -1)
    return {
        f"primitive_{norm}": Form(
            "{self}({x})",
            setup=(f'{{self}} = ops.FFTWithSize({count}, {inverse}, {real}, norm="{norm}")',),
            when={"n": None, "dim": last, "norm": norm},
            dtypes=None if real and not inverse else COMPLEX,
            source=f"mindspore.ops.FFTWithSize: signal_ndim={count}, inverse={inverse},"
            f" real={real}",
        )
        for norm in ("backward", "ortho", "forward")
    }


def transform(
    name: str,
    dtypes: tuple[str, ...],
    *,
    sizes: tuple[Attr, ...],
    dims: tuple[Attr, ...],
    default: Attr,
    shapes: tuple[tuple[int, ...], ...] = _SHAPES,
    more: Mapping[str, str | Form] | None = None,
) -> None:
    """A transform; `sizes` are the values of the parameter n (of one axis) or s (of several)."""
    size = "n" if kind(name) == name else "s"
    args = "{x}, {n}, {dim}, {norm}"
    keyword = f"input={{x}}, {size}={{n}}, dim={{dim}}, norm={{norm}}"
    signature = f"{size}=None, dim={default}, norm=None, which is 'backward'"
    op(
        name,
        "x",
        attrs={"n": sizes, "dim": dims, "norm": _NORMS},
        dtypes=dtypes,
        infer=transformed(name),
        requires=transform_fits(name),
        reference=reference(name),
        torch=torch_calls(
            f"torch.fft.{name}",
            args,
            keyword=keyword,
            method="",
            inplace="",
            default=Form(
                f"torch.fft.{name}({{x}})",
                when=plain(default),
                source=f"torch.fft.{name}: {signature}",
            ),
            default_norm=Form(
                f"torch.fft.{name}({{x}}, {{n}}, {{dim}})",
                when={"norm": "backward"},
                source=f"torch.fft.{name}: {signature}",
            ),
        ),
        mindspore=mindspore_calls(
            f"ops.{name}",
            args,
            keyword=keyword,
            method="",
            dtypes=dtypes,
            default=Form(
                f"ops.{name}({{x}})",
                when=plain(default),
                source=f"mindspore.ops.{name}: {signature}",
            ),
            more=limited(dtypes, more or {}),
        ),
        tolerance=Tolerance.ACCUMULATING,
        shapes=shapes,
        tags={"complex", "fourier"},
    )


for _name, _dtypes in (
    ("fft", _BOTH),
    ("ifft", _BOTH),
    ("rfft", ("float32",)),
    ("irfft", COMPLEX),
    ("hfft", COMPLEX),
    ("ihfft", ("float32",)),
):
    transform(
        _name,
        _dtypes,
        sizes=(None, 3, 6),
        dims=(-1, 0, 1),
        default=-1,
        more=with_size(_name, 1) if _name in ("fft", "ifft", "rfft") else None,
    )
    transform(
        f"{_name}2",
        _dtypes,
        sizes=(None, (3, 2), (2, 5)),
        dims=((-2, -1), (0, 1), (1, 0)),
        default=(-2, -1),
        shapes=((2, 3, 4), (3, 6), (1, 2, 2)),
        more=with_size(_name, 2) if _name in ("fft", "ifft", "rfft") else None,
    )
    transform(
        f"{_name}n",
        _dtypes,
        sizes=(None, (3, 2), (4,)),
        dims=(None, (0, 1), (-1,), (1, 0)),
        default=None,
    )


# ---------------------------------------------------------------------------------------- shifts
def shift_fits(call: OpCall) -> Requirement:
    yield call["x"].rank > 0, "a scalar has no axis to shift"
    axes(call)


for _name in ("fftshift", "ifftshift"):
    _rule = getattr(fft, _name)
    op(
        _name,
        "x",
        attrs={"dim": (None, -1, 0, (0, 1))},
        dtypes=("float32", "float64", "int32", "int64", *COMPLEX),
        infer=lambda call: resized(call["x"], static(call["x"])),
        requires=shift_fits,
        reference=lambda x, *, dim, rule=_rule: rule(x, axes=dim),
        torch=torch_calls(
            f"torch.fft.{_name}",
            "{x}, {dim}",
            keyword="input={x}, dim={dim}",
            method="",
            inplace="",
            default=Form(
                f"torch.fft.{_name}({{x}})",
                when={"dim": None},
                source=f"torch.fft.{_name}: dim=None, all dimensions",
            ),
        ),
        mindspore=mindspore_calls(
            f"ops.{_name}",
            "{x}, {dim}",
            keyword="input={x}, dim={dim}",
            method="",
            dtypes=("float32", "float64", "int32", "int64", *COMPLEX),
            default=Form(
                f"ops.{_name}({{x}})",
                when={"dim": None},
                source=f"mindspore.ops.{_name}: dim=None, all dimensions",
            ),
        ),
        tolerance=Tolerance.EXACT,
        shapes=_SHAPES,
        tags={"shape-preserving", "fourier"},
    )
