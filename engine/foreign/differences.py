"""Where the modes of a function do not agree: by outcomes alone, for what cannot be traced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.executors.outcome import Array
from engine.oracles.numeric import CLEARLY, tolerance_of
from engine.oracles.verdict import Kind

__all__ = ["BASELINE", "Difference", "Ran", "difference"]

BASELINE = {"torch": "torch-eager", "mindspore": "mindspore-pynative"}
_FLOAT64 = "torch-eager-f64"


@dataclass(frozen=True)
class Ran:
    """What a mode did. `status`: "ok", "raised", "died", "timeout" or "unsupported".

    `says`: in one line; `dtypes` and `values` by place in the result, floats as float64.
    """

    mode: str
    status: str
    says: str
    seconds: float = 0.0
    raised: str = ""
    dtypes: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Array] = field(default_factory=dict)
    output: str = ""


@dataclass(frozen=True)
class Difference:
    """`mode` is accused; `reference` says what it had to say. `place`: in the result.

    `detail`: the exception's type, the signal, or the figures.
    """

    kind: Kind
    mode: str
    reference: str
    place: str = ""
    dtype: str = ""
    detail: str = ""


def difference(ran: Mapping[str, Ran], *, framework: str) -> Difference | None:
    """The first difference that counts, those that say most first; None where the modes agree.

    A mode that cannot run the function says nothing, nor does one that is not done in time: the
    machine may be busy. What every mode raises is no difference.
    Values are held against float64 where it ran, else against the plain mode.
    """
    plain = ran[BASELINE[framework]]
    others = [one for one in ran.values() if one.mode not in (plain.mode, _FLOAT64)]
    for one in (*others, plain):
        if one.status == "died" and _answered(ran, one.mode):
            return Difference(Kind.DIED, one.mode, _witness(ran, one.mode), detail=one.raised)
    for one in (*others, plain):
        if one.status == "raised" and _answered(ran, one.mode):
            return Difference(Kind.RAISES, one.mode, _witness(ran, one.mode), detail=one.raised)
    if plain.status != "ok":
        return None
    for one in others:
        found = _apart(one, plain, ran.get(_FLOAT64)) if one.status == "ok" else None
        if found is not None:
            return found
    return None


def _answered(ran: Mapping[str, Ran], but: str) -> bool:
    return any(one.status == "ok" for name, one in ran.items() if name not in (but, _FLOAT64))


def _witness(ran: Mapping[str, Ran], but: str) -> str:
    """The plainest mode that answered."""
    return next(
        name for name, one in ran.items() if one.status == "ok" and name not in (but, _FLOAT64)
    )


def _apart(one: Ran, plain: Ran, float64: Ran | None) -> Difference | None:
    if list(one.dtypes) != list(plain.dtypes):
        return Difference(Kind.STRUCTURE, one.mode, plain.mode, detail=", ".join(one.dtypes))
    for place, dtype in one.dtypes.items():
        said = plain.dtypes[place]
        if dtype != said:
            return Difference(Kind.DTYPE, one.mode, plain.mode, place, said, f"{dtype}, not {said}")
        shapes = one.values[place].shape, plain.values[place].shape
        if shapes[0] != shapes[1]:
            text = f"{shapes[0]}, not {shapes[1]}"
            return Difference(Kind.SHAPE, one.mode, plain.mode, place, said, text)
    for place, dtype in one.dtypes.items():
        found = _values_apart(one, plain, float64, place, dtype)
        if found is not None:
            return found
    return None


def _values_apart(
    one: Ran, plain: Ran, float64: Ran | None, place: str, dtype: str
) -> Difference | None:
    """Accused is who is off: of two modes that differ, the one farther from float64."""
    if float64 is None or float64.status != "ok" or place not in float64.values:
        text = _off(one.values[place], plain.values[place], dtype)
        return Difference(Kind.VALUES, one.mode, plain.mode, place, dtype, text) if text else None
    exact = float64.values[place]
    off, text_of_plain = (
        _off(one.values[place], exact, dtype),
        _off(plain.values[place], exact, dtype),
    )
    if off and not text_of_plain:
        return Difference(Kind.VALUES, one.mode, _FLOAT64, place, dtype, off)
    return None


def _off(values: Array, exact: Array, dtype: str) -> str:
    """How far it is off, in words; "" where four times the dtype's default tolerance holds."""
    rtol, atol = (CLEARLY * one for one in tolerance_of(dtype))
    if values.shape != exact.shape:
        return ""
    if values.dtype.kind not in "fc":
        wrong = values != exact
        text = f"{int(wrong.sum())} of {values.size} differ"
        return text if wrong.any() else ""
    close = np.isclose(values, exact, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return ""
    at = tuple(int(one) for one in np.argwhere(~close)[0])
    return f"{values[at]:.6g}, not {exact[at]:.6g}, at {at}"
