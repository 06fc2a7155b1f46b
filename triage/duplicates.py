"""Whether a bug is known already: asking the tracker, and what of ours is like it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction

from engine.oracles.verdict import Kind
from triage.alike import family_buckets, similar_buckets
from triage.drafting.wording import call_of, kind_of
from triage.models import DuplicateSearch, Report
from triage.reporting import link_report, note_report
from triage.upstream.errors import UpstreamError
from triage.upstream.issue import UpstreamIssue
from triage.upstream.sites import client_for

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["MOST_FOUND", "join_issue", "own_reports", "search_tracker", "suggested_query"]

MOST_FOUND = 10
_PROBLEM = 500
_WORDS: Mapping[Kind, str] = {
    Kind.DIED: "crash",
    Kind.HANG: "hang",
    Kind.INTERNAL: "internal assert",
    Kind.DTYPE: "dtype",
    Kind.SHAPE: "shape",
    Kind.NONFINITE: "nan",
    Kind.GRADIENT: "gradient",
    Kind.GRADIENT_NONFINITE: "gradient nan",
    Kind.GRADIENT_RAISES: "gradient error",
    Kind.WRITE_LOST: "in-place",
    Kind.INPUT_CHANGED: "input modified",
    Kind.RAISES: "error",
    Kind.DOCUMENTED: "error",
    Kind.IN_FORM: "error",
}


def suggested_query(report: Report) -> str:
    """Words to search for: the call by its short name, the kind of failure, the compiler."""
    finding = report.finding.finding()
    name = finding.accused_op or call_of(finding).rpartition(".")[2]
    kind = kind_of(finding)
    words = [name.strip("_"), _WORDS.get(kind, "") if kind else ""]
    if report.form == "pytorch-pt2":
        words.append("compile")
    return " ".join(word for word in words if word)


def search_tracker(report: Report, *, query: str, who: User) -> DuplicateSearch:
    """Ask the tracker, and keep the answer, or why there is none. Waits for the network."""
    issues: list[dict[str, Any]] = []
    problem = ""
    try:
        issues = [_row(one) for one in client_for(report.tracker).search(query, limit=MOST_FOUND)]
    except UpstreamError as error:
        problem = str(error)[:_PROBLEM]
    with transaction.atomic():
        said = problem or f"{len(issues)} found"
        note_report(report, "searched", query, said, who=who)
        return DuplicateSearch.objects.create(
            report=report, query=query, issues=issues, problem=problem, who=who
        )


def _row(issue: UpstreamIssue) -> dict[str, Any]:
    activity = issue.last_activity
    return {
        "url": issue.url,
        "name": issue.ref.name,
        "title": issue.title,
        "state": issue.state,
        "reason": issue.state_reason,
        "labels": list(issue.labels),
        "last_activity": activity.isoformat() if activity else "",
    }


def join_issue(report: Report, *, url: str, who: User) -> Report:
    """Follow an issue that is there already, instead of filing another."""
    why = "An issue that was there already; nothing was filed."
    return link_report(report, url=url, who=who, kind="joined", why=why)


def own_reports(report: Report) -> list[Report]:
    """Reports of ours about the same bucket, and about buckets like it, that are on a tracker."""
    bucket = report.bucket
    alike = [one.bucket.pk for one in similar_buckets(bucket)]
    alike += [one.pk for one in family_buckets(bucket)]
    found = Report.objects.filter(bucket__in=[bucket.pk, *alike], tracker=report.tracker)
    found = found.exclude(pk=report.pk).exclude(upstream_url="").select_related("bucket")
    return sorted(found, key=lambda one: (one.bucket_id != bucket.pk, -one.updated_at.timestamp()))
