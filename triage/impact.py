"""How much a finding matters upstream, in the words that trackers use for priority.

A sum of plain points, each with its reason, so that a person can see why a bucket stands where it
does in the inbox.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.finding import Finding, Symptom

__all__ = ["Point", "impact", "impact_points"]

_BASE = {
    Symptom.NUMERICAL: (40, "silent wrong result"),
    Symptom.STATE: (40, "silent change of state"),
    Symptom.CRASH: (30, "raises although it should run"),
    Symptom.EFFICIENCY: (10, "slow or hungry, but right"),
}
_SMALL = 3
_READABLE = 8


@dataclass(frozen=True)
class Point:
    """Some points and why they are given."""

    points: int
    reason: str


def impact_points(finding: Finding) -> tuple[Point, ...]:
    """Points of a finding, the heaviest reason first."""
    return tuple(
        point
        for point in (_symptom(finding), _reproducibility(finding), _size(finding), _reach(finding))
        if point.points
    )


def impact(finding: Finding) -> int:
    """Sum of the points; 0 to 100."""
    return sum(point.points for point in impact_points(finding))


def _symptom(finding: Finding) -> Point:
    if any(answer.status == "died" for answer in finding.answers):
        return Point(60, "native crash: the process dies")
    return Point(*_BASE[finding.symptom])


def _reproducibility(finding: Finding) -> Point:
    again = finding.reproduction
    if not again.attempts:
        return Point(0, "not run again")
    share = again.reproduced / again.attempts
    return Point(round(20 * share), f"reproduced {again.reproduced} of {again.attempts} times")


def _size(finding: Finding) -> Point:
    count = finding.minimised_nodes
    operators = "1 operator" if count == 1 else f"{count} operators"
    if count <= _SMALL:
        return Point(15, f"script of {operators}")
    if count <= _READABLE:
        return Point(8, f"readable script of {operators}")
    return Point(0, "long script")


def _reach(finding: Finding) -> Point:
    """A failure in eager execution reaches every user; in a compiled mode those who compile."""
    if any(mode in {"torch-eager", "mindspore-pynative"} for mode in finding.accused_modes):
        return Point(5, "reaches every user: fails without compiling")
    return Point(0, "compiled modes only")
