"""The labels that a tracker's triage rules would give a report, each with its reason.

Only maintainers set labels; the proposal saves them a look, and says where the report belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.finding import Finding
from engine.oracles.verdict import Kind
from triage.drafting.wording import kind_of
from triage.linting.of_inputs import extreme_values
from triage.linting.script import Script, parsed
from triage.models import FindingRecord, Tracker
from triage.regressions import passes_on

__all__ = ["LABELS", "LabelRule", "Proposal", "proposed_labels"]

_COMPILED = frozenset({"torch-aot", "torch-inductor"})
_SILENT = (
    *(Kind.VALUES, Kind.NONFINITE, Kind.GRADIENT, Kind.GRADIENT_NONFINITE, Kind.WRITE_LOST),
    *(Kind.DTYPE, Kind.SHAPE, Kind.INPUT_CHANGED, Kind.SECOND_CALL, Kind.LAYOUT),
)
_RAISING = (
    *(Kind.RAISES, Kind.INTERNAL, Kind.GRADIENT_RAISES),
    *(Kind.DOCUMENTED, Kind.IN_FORM),
)


@dataclass(frozen=True)
class Evidence:
    """What a rule of the rubric looks at. `modes`: result of the mode ablations by mode."""

    record: FindingRecord
    finding: Finding
    script: Script
    modes: Mapping[str, str]

    @property
    def kind(self) -> Kind | None:
        return kind_of(self.finding)

    @property
    def failing(self) -> frozenset[str]:
        """Modes that fail; the accused ones where nothing was ablated."""
        found = {mode for mode, result in self.modes.items() if result == "fails"}
        return frozenset(found or self.finding.accused_modes)

    def is_right(self, mode: str) -> bool:
        """Whether a mode was asked, and answers as it should."""
        answered = {one.mode for one in self.finding.answers if one.status == "ok"}
        return self.modes.get(mode) == "passes" or (mode in answered and mode not in self.failing)

    @property
    def said(self) -> str:
        accused = (one for one in self.finding.answers if one.mode in self.finding.accused_modes)
        return "\n".join(f"{one.summary}\n{one.detail}" for one in accused)


@dataclass(frozen=True)
class LabelRule:
    """`why`: the reason for a finding, or nothing where the label does not fit."""

    label: str
    tracker: str
    why: Callable[[Evidence], str]


@dataclass(frozen=True)
class Proposal:
    label: str
    why: str


def _fuzzer(seen: Evidence) -> str:
    return "found by mutation, and the checklist for fuzzers is met"


def _compiler(seen: Evidence) -> str:
    only = seen.failing <= _COMPILED and seen.failing
    return "fails under torch.compile only" if only else ""


def _dispatcher(seen: Evidence) -> str:
    if "torch-aot" in seen.failing and seen.is_right("torch-eager"):
        return "fails with aot_eager, and not in eager mode" if not _tracing(seen) else ""
    return ""


def _inductor(seen: Evidence) -> str:
    only = "torch-inductor" in seen.failing and seen.is_right("torch-aot")
    return "fails with inductor, and not with aot_eager" if only else ""


def _cpu_inductor(seen: Evidence) -> str:
    return "inductor only, seen on CPU" if _inductor(seen) else ""


def _tracing(seen: Evidence) -> bool:
    return seen.kind in _RAISING and "torch._dynamo.exc" in seen.said


def _dynamo(seen: Evidence) -> str:
    return "raises while dynamo traces" if _tracing(seen) and _compiler(seen) else ""


def _dynamic(seen: Evidence) -> str:
    if any(mode.endswith("+dynamic") for mode in seen.finding.accused_modes):
        base = {mode.partition("+")[0] for mode in seen.finding.accused_modes}
        if all(seen.is_right(mode) for mode in base):
            return "goes away with dynamic=False"
    return ""


def _edge(seen: Evidence) -> str:
    found = extreme_values(seen.script)
    return f"the inputs need {', '.join(found)}" if found else ""


def _silent(seen: Evidence) -> str:
    return "the answer is wrong, and nothing is raised" if seen.kind in _SILENT else ""


def _numerics(seen: Evidence) -> str:
    wrong = seen.kind in (Kind.VALUES, Kind.GRADIENT) and _compiler(seen)
    return "the compiled numbers are further from float64 than eager's" if wrong else ""


def _nonfinite(seen: Evidence) -> str:
    wrong = seen.kind in (Kind.NONFINITE, Kind.GRADIENT_NONFINITE)
    return "NaN or infinity is in the wrong places" if wrong else ""


def _crash(seen: Evidence) -> str:
    return "the process dies" if seen.kind is Kind.DIED else ""


def _regression(seen: Evidence) -> str:
    older = passes_on(seen.record)
    return f"the script passes with {older}" if older else ""


def _rare(seen: Evidence) -> str:
    rare = _edge(seen) and not _crash(seen) and not _regression(seen)
    return "an edge case found by a fuzzer" if rare else ""


def _bug(seen: Evidence) -> str:
    return "it is a bug report"


def _device(seen: Evidence) -> str:
    return "it ran on CPU"


def _pynative(seen: Evidence) -> str:
    return "PyNative mode is wrong" if "mindspore-pynative" in seen.failing else ""


def _graph(seen: Evidence) -> str:
    return "Graph mode is wrong" if "mindspore-graph" in seen.failing else ""


_P, _M = Tracker.PYTORCH.value, Tracker.MINDSPORE.value
LABELS: tuple[LabelRule, ...] = (
    LabelRule("topic: fuzzer", _P, _fuzzer),
    LabelRule("oncall: pt2", _P, _compiler),
    LabelRule("module: pt2-dispatcher", _P, _dispatcher),
    LabelRule("module: inductor", _P, _inductor),
    LabelRule("oncall: cpu inductor", _P, _cpu_inductor),
    LabelRule("module: dynamo", _P, _dynamo),
    LabelRule("module: dynamic shapes", _P, _dynamic),
    LabelRule("module: correctness (silent)", _P, _silent),
    LabelRule("pt2: numerics-discrepancy", _P, _numerics),
    LabelRule("module: NaNs and Infs", _P, _nonfinite),
    LabelRule("module: crash", _P, _crash),
    LabelRule("module: regression", _P, _regression),
    LabelRule("module: edge cases", _P, _edge),
    LabelRule("low priority", _P, _rare),
    LabelRule("/kind bug", _M, _bug),
    LabelRule("/device cpu", _M, _device),
    LabelRule("/mode pynative", _M, _pynative),
    LabelRule("/mode graph", _M, _graph),
)


def proposed_labels(record: FindingRecord, tracker: str) -> list[Proposal]:
    """What the tracker's rubric gives the finding, in the order of the table."""
    finding = record.finding()
    modes = {one.setting: one.result for one in finding.ablations if one.axis == "mode"}
    seen = Evidence(record, finding, parsed(finding.script), modes)
    rules = [rule for rule in LABELS if rule.tracker == tracker]
    return [Proposal(rule.label, why) for rule in rules if (why := rule.why(seen))]
