"""The evidence of a finding, arranged for its page: the referee's figures, and what was ablated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

from engine.finding import Ablation, Finding, Weighed
from triage.text import times

__all__ = [
    "Axis",
    "Figure",
    "Quantity",
    "ablation_axes",
    "ablation_sentence",
    "quantities",
    "words",
]

_BASELINES = ("torch-eager", "mindspore-pynative")
_WIDTH, _HEIGHT, _TRACK = 150, 22, 8


def words(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    head, last = items[:-1], items[-1:]
    return " and ".join([", ".join(head), *last]) if head else "".join(last)


# ------------------------------------------------------------------------------------- the referee
@dataclass(frozen=True)
class Figure:
    """One mode's figures of one quantity. `allowed`: the greater of tolerance and noise floor."""

    weighed: Weighed
    is_accused: bool
    is_over: bool
    allowed: float
    bar: SafeString


@dataclass(frozen=True)
class Quantity:
    """An output or a gradient of one call, with the figures of every mode that gave it."""

    call: int
    name: str
    kind: str
    figures: tuple[Figure, ...]
    sentence: str

    @property
    def has_wrong(self) -> bool:
        return any(figure.is_over for figure in self.figures)


def quantities(finding: Finding) -> tuple[Quantity, ...]:
    """What the referee weighed; those that somebody has wrong come first."""
    grouped: dict[tuple[int, str, str], list[Weighed]] = {}
    for one in finding.weighed:
        grouped.setdefault((one.call, one.quantity, one.name), []).append(one)
    made = [
        _quantity(call, name, kind, rows, finding.accused_modes)
        for (call, kind, name), rows in grouped.items()
    ]
    return tuple(sorted(made, key=lambda one: not one.has_wrong))


def _quantity(
    call: int, name: str, kind: str, rows: list[Weighed], accused: tuple[str, ...]
) -> Quantity:
    scale = _Scale([number for row in rows for number in (row.error, row.tolerance, row.floor)])
    figures = tuple(
        Figure(
            row,
            is_accused=row.mode in accused,
            is_over=_is_over(row),
            allowed=max(row.tolerance, row.floor),
            bar=_bar(row, scale),
        )
        for row in rows
    )
    return Quantity(call, name, kind, figures, _judged(figures))


def _is_over(row: Weighed) -> bool:
    """More than 1 counts; so does what cannot be compared."""
    return math.isnan(row.ratio) or row.ratio > 1


def _judged(figures: Sequence[Figure]) -> str:
    """Who is over what is allowed, and who is further from float64."""
    over = [one.weighed for one in figures if one.is_over]
    within = [one.weighed for one in figures if not one.is_over]
    if not over:
        return "Every mode that answered is within what is allowed."
    worst = max(over, key=lambda row: math.inf if math.isnan(row.ratio) else row.ratio)
    names = words([row.mode for row in over])
    text = f"{names} {'is' if len(over) == 1 else 'are'} beyond what is allowed"
    text += f", {times(worst.ratio)} it" if math.isfinite(worst.ratio) else ""
    if not within:
        return f"{text}; no mode stays within it."
    stay = "stays" if len(within) == 1 else "stay"
    text = f"{text}; {words([row.mode for row in within])} {stay} within it."
    eager = next((row for row in within if row.mode in _BASELINES), None)
    if eager is not None and worst.mode not in _BASELINES and worst.error > eager.error:
        text += (
            f" {worst.mode} is further from float64 than {eager.mode}:"
            f" {worst.error:.3g} against {eager.error:.3g}."
        )
    return text


class _Scale:
    """Logarithmic, from a tenth of the smallest number to the greatest, in the width of a bar."""

    def __init__(self, numbers: Iterable[float]) -> None:
        logs = [math.log10(one) for one in numbers if one > 0 and math.isfinite(one)]
        self.low = math.floor(min(logs, default=-1.0)) - 1
        self.high = max(math.ceil(max(logs, default=0.0)), self.low + 2)

    def at(self, number: float) -> float:
        """Where a number is; infinity and NaN at the far end, 0 at the near one."""
        if not math.isfinite(number):
            return _WIDTH
        if number <= 0:
            return 0.0
        part = (math.log10(number) - self.low) / (self.high - self.low)
        return round(min(1.0, max(0.0, part)) * _WIDTH, 1)


def _bar(row: Weighed, scale: _Scale) -> SafeString:
    """The error as a bar, what is allowed as a line, tolerance and noise floor as ticks."""
    allowed = max(row.tolerance, row.floor)
    beyond = _is_over(row)
    said = f"error {row.error:.3g}, allowed {allowed:.3g}: {'beyond' if beyond else 'within'}"
    top = (_HEIGHT - _TRACK) / 2
    return format_html(
        '<svg class="weigh {}" viewBox="0 0 {} {}" width="{}" height="{}" role="img" '
        'aria-label="{}"><rect class="track" y="{}" width="{}" height="{}"/>'
        '<rect class="error" y="{}" width="{}" height="{}"/>'
        '<path class="tick" d="M{} {}v{}M{} {}v{}"/><path class="allowed" d="M{} 0v{}"/></svg>',
        *("over" if beyond else "within", _WIDTH, _HEIGHT, _WIDTH, _HEIGHT, said),
        *(top, _WIDTH, _TRACK, top, scale.at(row.error), _TRACK),
        *(scale.at(row.tolerance), top, _TRACK, scale.at(row.floor), top, _TRACK),
        *(min(scale.at(allowed), _WIDTH - 1), _HEIGHT),
    )


# --------------------------------------------------------------------------------------- ablations
@dataclass(frozen=True)
class Axis:
    """One thing that was changed, with every setting tried."""

    name: str
    label: str
    about: str
    cells: tuple[Ablation, ...]


_AXES = {
    "mode": ("Mode", "how the program is run"),
    "option": ("Option", "one option of the compiler changed"),
    "dtype": ("Dtype", "every tensor in another dtype"),
    "form": ("Form", "the call written in another way"),
}
_ORDER = ("fails", "differs", "passes", "could not run")


def ablation_axes(finding: Finding) -> tuple[Axis, ...]:
    """The matrix by rows; axes that this version does not know come last, under their own name."""
    cells: dict[str, list[Ablation]] = {name: [] for name in _AXES}
    for one in finding.ablations:
        cells.setdefault(one.axis, []).append(one)
    return tuple(
        Axis(name, *_AXES.get(name, (name, "")), tuple(sorted(found, key=_rank)))
        for name, found in cells.items()
        if found
    )


def _rank(cell: Ablation) -> int:
    return _ORDER.index(cell.result) if cell.result in _ORDER else len(_ORDER)


def ablation_sentence(finding: Finding) -> str:
    """What the matrix means: "Fails only in torch-inductor; goes away with the option x." """
    parts = [one for one in _meanings(finding.ablations) if one]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _meanings(ablations: Sequence[Ablation]) -> Iterator[str]:
    def with_result(axis: str, result: str) -> list[str]:
        return [one.setting for one in ablations if (one.axis, one.result) == (axis, result)]

    modes, right = with_result("mode", "fails"), with_result("mode", "passes")
    if modes and right:
        yield f"fails only in {words(modes)}"
    elif modes:
        yield f"fails in {words(modes)}, and no mode passes"
    if gone := with_result("option", "passes"):
        yield f"goes away with {words(gone)}"
    if stays := with_result("option", "fails"):
        yield f"stays with {words(stays)}"
    fails, passes = with_result("dtype", "fails"), with_result("dtype", "passes")
    if fails:
        yield f"fails with {words(fails)} too"
    if passes:
        yield f"passes with {words(passes)}"
    if gone := with_result("form", "passes"):
        yield f"goes away when written as {words(gone)}"
    elif with_result("form", "fails"):
        yield "every form of the call that runs fails"
