"""Python text for values: what a standalone script is fed with and compared to.

Texts need `np` and the module of the framework. Numbers are the shortest that read back as the same
number of their dtype; a formula or a generator stands for an array only where it gives the very
same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from engine.executors.outcome import Array
from engine.executors.request import settled
from engine.executors.worker.layout import OFFSET, moved_channels
from engine.ir.graph import Formula, Input, Random

__all__ = ["array_text", "cotangent_text", "input_lines", "number_text"]

PRINTED = 64


def input_lines(
    inputs: Iterable[Input],
    arrays: Mapping[str, Array],
    framework: str,
    *,
    differentiable: bool = False,
) -> list[str]:
    """One assignment for each input, laid out and sharing storage as its case says.

    `arrays` as initialisers give them. `differentiable`: inputs that a gradient is asked for say so
    (PyTorch alone has such inputs).
    """
    inputs = tuple(inputs)
    found = settled(inputs, arrays)
    largest: dict[str, str] = {}
    for given in inputs:
        held = largest.setdefault(given.alias, given.name)
        if found[given.name].size > found[held].size:
            largest[given.alias] = given.name
    storages: dict[str, str] = {}
    lines = []
    for given in inputs:
        if given.alias and given.alias not in storages:
            storages[given.alias] = f"storage{len(storages)}"
            flat = found[largest[given.alias]].reshape(-1)
            lines.append(f"{storages[given.alias]} = {_tensor(_values(flat), flat, framework)}")
        array = found[given.name]
        if given.alias:
            text = f"{storages[given.alias]}[:{array.size}].view({_shape(array)})"
        else:
            text = _laid_out(given, array, framework)
        asks = differentiable and given.requires_grad and framework == "torch"
        lines.append(f"{given.name} = {text}{'.requires_grad_()' if asks else ''}")
    return lines


def _shape(array: Array) -> str:
    return repr(tuple(array.shape))


def _tensor(numbers: str, array: Array, framework: str) -> str:
    """A tensor of the array's dtype from a NumPy expression."""
    dtype = array.dtype.name
    if framework == "torch":
        return f"torch.from_numpy({numbers})" + (
            ".to(torch.bfloat16)" if dtype == "bfloat16" else ""
        )
    return f"Tensor({numbers}, ms.{'bool_' if dtype == 'bool' else dtype})"


def _laid_out(given: Input, array: Array, framework: str) -> str:
    """The input as a view of other memory, where its layout asks for that."""
    plain = _generated(given, array) or _values(array)
    rank = array.ndim
    match given.layout:
        case "transposed":
            text = _tensor(f"np.swapaxes({plain}, -1, -2).copy()", array, framework)
            return f"{text}.swapaxes(-1, -2)"
        case "channels_last":
            there, back = moved_channels(rank)
            text = _tensor(f"np.transpose({plain}, {there}).copy()", array, framework)
            return f"{text}.{'permute' if framework == 'torch' else 'transpose'}({back})"
        case "strided":
            return f"{_tensor(f'np.repeat({plain}, 2, -1)', array, framework)}[..., ::2]"
        case "offset":
            buffer = f"np.pad(np.ravel({plain}), ({OFFSET}, 0))"
            return f"{_tensor(buffer, array, framework)}[{OFFSET}:].view({_shape(array)})"
        case "expanded":
            axis = next((k for k, extent in enumerate(array.shape) if extent > 1), None)
            if axis is None:
                return _tensor(plain, array, framework)
            first = _tensor(_values(np.take(array, [0], axis=axis)), array, framework)
            return (
                f"{first}.{'expand' if framework == 'torch' else 'broadcast_to'}({_shape(array)})"
            )
    return _tensor(plain, array, framework)


def cotangent_text(weights: Array, framework: str) -> str:
    """The fixed weights of a loss, 1 + (k mod 7) / 8 with alternating sign."""
    if weights.size <= PRINTED:
        numbers = _values(weights)
    else:
        place = f"np.arange({weights.size})"
        signed = f"(1 + {place} % 7 / 8) * np.where({place} % 2, -1, 1)"
        numbers = f"({signed}).reshape({_shape(weights)}).astype(np.{weights.dtype.name})"
    return f"torch.from_numpy({numbers})" if framework == "torch" else f"Tensor({numbers})"


# ------------------------------------------------------------------------------------- numbers
def _values(array: Array) -> str:
    """A NumPy expression with every number written out; bfloat16 as the same numbers in float32."""
    wanted = _wide(array)
    if not array.size:
        return f"np.zeros({_shape(array)}, {wanted})"
    return f"np.array({array_text(array)}, {wanted})"


def _wide(array: Array) -> str:
    return {"bfloat16": "np.float32", "bool": "np.bool_"}.get(
        array.dtype.name, f"np.{array.dtype.name}"
    )


def array_text(array: Array) -> str:
    """Nested lists of numbers; `np.array` of it has the shape of the array, unless it is empty."""
    is_narrow = array.dtype.name == "bfloat16"
    plain = array.astype(np.float32) if is_narrow else array
    formatter: Any = {
        "float_kind": _narrow_text if is_narrow else number_text,
        "complex_kind": number_text,
    }
    return np.array2string(
        plain, separator=", ", threshold=sys.maxsize, max_line_width=96, formatter=formatter
    )


def number_text(value: Any) -> str:
    """A number of any dtype."""
    if isinstance(value, complex | np.complexfloating):
        return f"complex({number_text(value.real)}, {number_text(value.imag)})"
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return "np.nan" if np.isnan(value) else ("np.inf" if value > 0 else "-np.inf")
    # NumPy prints the shortest text that reads back as the same number of its dtype.
    return str(value)


def _narrow_text(value: np.float32) -> str:
    """A bfloat16 number: the shortest text from which float32 rounds to it."""
    if not np.isfinite(value):
        return number_text(value)
    narrow = ml_dtypes.bfloat16(value)
    texts = (repr(float(f"{value:.{digits}g}")) for digits in range(1, 9))
    exact = (text for text in texts if ml_dtypes.bfloat16(np.float32(text)) == narrow)
    return next(exact, number_text(value))


def _generated(given: Input, array: Array) -> str:
    """A formula or a generator that gives the array, "" where there is none."""
    wanted, dtype = _wide(array), "float32" if array.dtype.name == "bfloat16" else array.dtype
    with np.errstate(all="ignore"):
        for text, values in _candidates(given, array):
            try:
                made = np.asarray(values).reshape(array.shape).astype(dtype).astype(array.dtype)
            except (OverflowError, ValueError):
                continue
            if made.tobytes() == np.ascontiguousarray(array).tobytes():
                return text.format(dtype=wanted)
    return ""


def _candidates(given: Input, array: Array) -> Iterator[tuple[str, Array]]:
    shape, size = tuple(array.shape), array.size
    match given.init:
        case Formula("full", parameters):
            value = dict(parameters).get("value", 0.0)
            yield f"np.full({shape}, {number_text(value)}, {{dtype}})", np.full(shape, value)
        case Formula("arange", parameters):
            ramp: dict[str, Any] = {"start": 0, "step": 1, **dict(parameters)}
            start, step = ramp["start"], ramp["step"]
            text = f"np.arange({size}) * {number_text(step)} + {number_text(start)}"
            values = np.arange(size) * step + start
            yield f"({text}).reshape({shape}).astype({{dtype}})", values
        case Random(kind, seed, parameters) if size > PRINTED and kind in _DRAWS:
            arguments = tuple({**_DRAWS[kind], **dict(parameters)}.values())
            if kind == "integers":
                arguments = tuple(int(one) for one in arguments)
            values = getattr(np.random.default_rng(seed), kind)(*arguments, shape)
            said = ", ".join(number_text(one) for one in arguments)
            drawn = f"np.random.default_rng({seed}).{kind}({said}, {shape})"
            yield f"{drawn}.astype({{dtype}})", values


# Parameters of NumPy's generators in order, with the values that stand for those left out.
_DRAWS: Mapping[str, Mapping[str, float]] = {
    "normal": {"mean": 0.0, "std": 1.0},
    "uniform": {"low": 0.0, "high": 1.0},
    "integers": {"low": 0, "high": 10},
}
