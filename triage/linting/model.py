"""What the linter speaks of: a report in view, a rule, and what a rule says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from engine.finding import Finding
from triage.linting.script import Script, parsed, read_script
from triage.models import Report, RuleOverride, Tracker
from triage.trackers import FORMS, Form

__all__ = ["Check", "Checked", "Lint", "Rule", "Subject", "Verdict", "broken", "holds", "unasked"]


class Verdict(StrEnum):
    """What a rule says of a report."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "not known yet"
    UNASKED = "does not apply"


@dataclass(frozen=True)
class Check:
    """`seen`: what is there; `expected`: what has to be. `note`: what changes by itself, such as an
    age; an override holds for what was seen, whatever the note."""

    verdict: Verdict
    seen: str
    expected: str = ""
    note: str = ""

    @property
    def blocks(self) -> bool:
        return self.verdict in (Verdict.BROKEN, Verdict.UNKNOWN)


def holds(seen: str, note: str = "") -> Check:
    return Check(Verdict.HOLDS, seen, note=note)


def broken(seen: str, expected: str, note: str = "") -> Check:
    return Check(Verdict.BROKEN, seen, expected, note)


def unasked(why: str) -> Check:
    return Check(Verdict.UNASKED, why)


@dataclass(frozen=True)
class Subject:
    """A report as the rules see it."""

    report: Report
    finding: Finding
    now: datetime

    @cached_property
    def form(self) -> Form:
        return FORMS[self.report.form]

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The fields in the order of the form."""
        return {field.key: self.report.fields.get(field.key, "") for field in self.form.fields}

    @cached_property
    def script(self) -> Script:
        return read_script(self.texts)

    @cached_property
    def stored(self) -> Script:
        """The script of the finding, which is what workers run."""
        return parsed(self.finding.script)

    @property
    def framework(self) -> str:
        return self.finding.accused_framework

    @property
    def is_pytorch(self) -> bool:
        return self.report.tracker == Tracker.PYTORCH


@dataclass(frozen=True)
class Rule:
    """`source`: who asks for it, in a few words; `url`: where they say so. `trackers`: whose."""

    key: str
    title: str
    source: str
    check: Callable[[Subject], Check]
    url: str = ""
    trackers: tuple[str, ...] = tuple(Tracker.values)


@dataclass(frozen=True)
class Checked:
    """A rule with what it says, and the override that holds for exactly that."""

    rule: Rule
    check: Check
    override: RuleOverride | None = None

    @property
    def blocks(self) -> bool:
        return self.check.blocks and self.override is None

    @property
    def word(self) -> str:
        """For a chip."""
        if self.check.blocks and self.override is not None:
            return "overridden"
        return self.check.verdict.value


@dataclass(frozen=True)
class Lint:
    """Every rule of a report, those that block first."""

    rows: Sequence[Checked]

    @property
    def blocking(self) -> list[Checked]:
        return [row for row in self.rows if row.blocks]

    @property
    def overridden(self) -> list[Checked]:
        return [row for row in self.rows if row.check.blocks and not row.blocks]

    @property
    def passes(self) -> bool:
        return not self.blocking

    @property
    def sentence(self) -> str:
        """For a line of the history."""
        if not self.passes:
            names = ", ".join(row.rule.title for row in self.blocking)
            return f"broken: {names}"
        overridden = ", ".join(row.rule.title for row in self.overridden)
        return f"every rule holds{f', overridden: {overridden}' if overridden else ''}"
