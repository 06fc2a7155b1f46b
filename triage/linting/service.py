"""Asking every rule about a report; overriding one with a reason, and taking that back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from triage.linting.model import Checked, Lint, Subject, Verdict
from triage.linting.rules import RULES
from triage.models import Report, RuleOverride
from triage.reporting import note_report

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["OverrideRefusedError", "lint_report", "override_rule", "withdraw_override"]

_RANK = (Verdict.BROKEN, Verdict.UNKNOWN, Verdict.HOLDS, Verdict.UNASKED)


class OverrideRefusedError(Exception):
    """There is nothing to override, or another thing than the person saw."""


def lint_report(report: Report, *, now: datetime | None = None) -> Lint:
    """Every rule of the report's tracker, those that block first. Writes nothing.

    `KeyError` or `TypeError` where another version of the engine wrote the finding.
    """
    subject = Subject(report, report.finding.finding(), now or timezone.now())
    overrides = {one.rule: one for one in report.overrides.select_related("who")}
    rows = []
    for rule in RULES.values():
        if report.tracker in rule.trackers:
            check = rule.check(subject)
            found = overrides.get(rule.key)
            holds = found if found is not None and found.seen == check.seen else None
            rows.append(Checked(rule, check, holds))
    rows.sort(key=lambda row: (not row.blocks, _RANK.index(row.check.verdict)))
    return Lint(rows)


@transaction.atomic
def override_rule(report: Report, *, rule: str, seen: str, reason: str, who: User) -> RuleOverride:
    """File although a rule is broken. `seen`: what the person saw of it; another refuses."""
    row = next((one for one in lint_report(report).rows if one.rule.key == rule), None)
    if row is None or not row.check.blocks:
        raise OverrideRefusedError("This rule does not block the report.")
    if row.check.seen != seen:
        raise OverrideRefusedError(f"By now the rule sees something else: {row.check.seen}.")
    RuleOverride.objects.filter(report=report, rule=rule).delete()
    made = RuleOverride.objects.create(report=report, rule=rule, seen=seen, reason=reason, who=who)
    note_report(report, "overridden", row.rule.title, seen, who=who, why=reason)
    return made


@transaction.atomic
def withdraw_override(report: Report, *, rule: str, who: User) -> bool:
    """The rule blocks again; whether there was an override."""
    deleted, _ = RuleOverride.objects.filter(report=report, rule=rule).delete()
    if deleted:
        title = RULES[rule].title if rule in RULES else rule
        note_report(report, "override withdrawn", title, "", who=who)
    return bool(deleted)
