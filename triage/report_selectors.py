"""Readers of a report for its page: the linter's answer, labels, duplicates, posting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.shortcuts import get_object_or_404

from triage.drafting.versions import current_version
from triage.duplicates import own_reports, suggested_query
from triage.filing import open_filing, why_not
from triage.linting.labels import Proposal, proposed_labels
from triage.linting.model import Lint
from triage.linting.service import lint_report
from triage.models import Report, Rerun
from triage.upstream.sites import site_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["LintPanel", "filing_context", "find_report", "lint_panel"]


@dataclass(frozen=True)
class LintPanel:
    """`lint`: None where another version of the engine wrote the finding, which `problem` says."""

    lint: Lint | None
    problem: str
    rerun: Rerun | None

    @property
    def passes(self) -> bool:
        return self.lint is not None and self.lint.passes

    @property
    def is_live(self) -> bool:
        return self.rerun is not None

    @property
    def rows(self) -> Sequence[Any]:
        return self.lint.rows if self.lint is not None else ()


def find_report(uuid: UUID) -> Report:
    """The one loader: everybody who is logged in may read and write reports."""
    reports = Report.objects.select_related(
        "bucket", "finding", "created_by", "template", "following"
    )
    return get_object_or_404(reports, uuid=uuid)


def lint_panel(report: Report) -> LintPanel:
    """What the linter says now, and the rerun that it waits for."""
    states = [Rerun.State.QUEUED, Rerun.State.RUNNING]
    rerun = report.finding.reruns.filter(state__in=states).first()
    try:
        return LintPanel(lint_report(report), "", rerun)
    except (KeyError, TypeError) as error:
        problem = f"The finding was written by another version of the engine ({error})."
        return LintPanel(None, problem, rerun)


def filing_context(report: Report, *, who: User) -> dict[str, Any]:
    """What the page shows beside the fields."""
    panel = lint_panel(report)
    labels: list[Proposal] = []
    query = ""
    if panel.lint is not None:
        labels = proposed_labels(report.finding, report.tracker)
        query = suggested_query(report)
    return {
        "lint": panel,
        "labels": labels,
        "query": query,
        "search": report.searches.select_related("who").first(),
        "own_reports": own_reports(report),
        "filing": open_filing(report),
        "why_not": why_not(report, who=who),
        "site": site_of(report.tracker),
        "newest_template": current_version(report.form),
    }
