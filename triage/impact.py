"""How much a finding matters upstream, in the words that trackers use for priority.

A sum of plain points, each with its reason, so that a person can see why a bucket stands where it
does in the inbox. PyTorch gives high priority to crashes, silent wrong results, regressions,
internal assertions and what many users meet; undocumented calls and edge cases are low.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.errors import BadInput
from engine.finding import Finding, Symptom
from engine.ops import OPS
from engine.ops.spec import Form
from triage.plausibility import unusual

__all__ = ["Point", "impact", "impact_points"]

_BASE = {
    Symptom.NUMERICAL: (35, "silent wrong result"),
    Symptom.STATE: (30, "silent wrong result: state that should stay is changed"),
    Symptom.CRASH: (20, "raises although it should run"),
    Symptom.EFFICIENCY: (5, "slow or hungry, but right"),
}
_SMALL = 3
_READABLE = 8
_ODDITIES_SHOWN = 3
_EAGER = frozenset({"torch-eager", "mindspore-pynative"})


@dataclass(frozen=True)
class Point:
    """Some points and why they are given, or why none are."""

    points: int
    reason: str


def impact_points(finding: Finding, *, passes_on: str = "") -> tuple[Point, ...]:
    """Points of a finding, the heaviest reason first; reasons worth nothing come last.

    `passes_on`: an older version on which it is known to pass; nothing is said where none is known.
    """
    points = (
        *([Point(10, f"regression: passes on {passes_on}")] if passes_on else []),
        _symptom(finding),
        _documented(finding),
        _plausible(finding),
        _reach(finding),
        _reproducibility(finding),
        _size(finding),
    )
    return tuple(sorted(points, key=lambda point: -point.points))


def impact(finding: Finding) -> int:
    """Sum of the points, as far as the finding alone tells; 0 to 90, and 100 for a regression."""
    return sum(point.points for point in impact_points(finding))


def _symptom(finding: Finding) -> Point:
    for answer in finding.answers:
        if answer.status == "died":
            return Point(40, f"crash: {answer.mode} {answer.summary or 'died'}")
    if any("INTERNAL ASSERT" in answer.summary + answer.detail for answer in finding.answers):
        return Point(35, "crash: internal assert")
    return Point(*_BASE[finding.symptom])


def _documented(finding: Finding) -> Point:
    """A call as the documentation writes it counts for more than a way round it."""
    call = next(
        (
            one
            for one in reversed(finding.parts.get("calls", "").split(" > "))
            if one.partition(".")[0] == finding.accused_op
        ),
        "",
    )
    op, _, name = call.partition(".")
    spec = OPS.get(op)
    form = spec.forms.get(finding.accused_framework, {}).get(name) if spec else None
    if form is not None and form.source:
        return Point(10, f"documented API: {form.source}")
    if form is not None and not name.startswith("composed"):
        return Point(10, f"documented API: {_api(form)}")
    return Point(0, "no single documented API is accused")


def _api(form: Form) -> str:
    """The name that is called: "F.relu", "Tensor.view", else the text of the form."""
    named = re.match(r"(\{x\}|\w+)((?:\.\w+)+)\(", form.call)
    if named is None:
        return form.api or form.call.replace("{", "").replace("}", "")
    return named[1].replace("{x}", "Tensor") + named[2]


def _plausible(finding: Finding) -> Point:
    try:
        odd = unusual(finding.minimised_text)
    except BadInput:
        return Point(0, "whether the input is plausible is not known: it cannot be read")
    if odd:
        more = f" and {len(odd) - _ODDITIES_SHOWN} more" if len(odd) > _ODDITIES_SHOWN else ""
        return Point(0, f"edge case: {', '.join(odd[:_ODDITIES_SHOWN])}{more}")
    return Point(15, "plausible input: ordinary dtypes, extents and values")


def _reach(finding: Finding) -> Point:
    """A failure in eager execution reaches every user; in a compiled mode those who compile."""
    if any(mode in _EAGER for mode in finding.accused_modes):
        return Point(10, "many users: fails without compiling")
    return Point(0, "compiled modes only")


def _reproducibility(finding: Finding) -> Point:
    again = finding.reproduction
    if not again.attempts:
        return Point(0, "reproducibility is not known: not run again")
    share = again.reproduced / again.attempts
    return Point(round(10 * share), f"reproduced in {again.reproduced} of {again.attempts} runs")


def _size(finding: Finding) -> Point:
    count = finding.minimised_nodes
    operators = "1 operator" if count == 1 else f"{count} operators"
    if count <= _SMALL:
        return Point(5, f"minimal script of {operators}")
    if count <= _READABLE:
        return Point(2, f"readable script of {operators}")
    return Point(0, f"long script of {operators}")
