"""The table from what a tracker says to a status of ours, and what is proposed from it."""

from __future__ import annotations

from typing import Any

import pytest

from triage.mapping import OBSERVABLE, RULES, observed_rule, status_to_propose
from triage.models import Report
from triage.reporting import MOVES
from triage.upstream.issue import Part, Pull, Reference, UpstreamIssue
from triage.upstream.sites import SITES

S = Report.Status
ENDS_OPEN = (Pull("u", "t", "open", closes=True),)
ENDS_MERGED = (Pull("u", "t", "merged", closes=True),)
MENTION = (Pull("u", "t", "open", closes=False),)


def said(site: str, **fields: Any) -> UpstreamIssue:
    values: dict[str, Any] = {"state": "open", "title": "t", "body": "", "url": "u", **fields}
    return UpstreamIssue(ref=Reference(site, "o", "r", "1"), parts={"issue": Part({})}, **values)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, S.REPORTED),
        ({"labels": ("module: inductor",)}, S.REPORTED),
        ({"labels": ("Triaged",)}, S.ROUTED),
        ({"labels": ("triaged", "high priority")}, S.CONFIRMED),
        ({"labels": ("actionable",)}, S.CONFIRMED),
        ({"labels": ("needs design",)}, S.CONFIRMED),
        ({"labels": ("triaged", "needs reproduction")}, S.NEEDS_INFO),
        ({"labels": ("needs research",)}, S.NEEDS_INFO),
        ({"labels": ("triaged",), "pulls": ENDS_OPEN}, S.IN_PROGRESS),
        ({"labels": ("triaged",), "pulls": MENTION}, S.ROUTED),
        ({"pulls": ENDS_MERGED}, S.FIX_CLAIMED),
        ({"pulls": ENDS_OPEN + ENDS_MERGED}, S.IN_PROGRESS),
        ({"state": "closed"}, S.FIX_CLAIMED),
        ({"state": "closed", "state_reason": "completed"}, S.FIX_CLAIMED),
        ({"state": "closed", "state_reason": "not_planned"}, S.REJECTED),
        ({"state": "closed", "labels": ("won't fix",)}, S.REJECTED),
        ({"labels": ("wontfix",)}, S.REJECTED),
        ({"state": "closed", "state_reason": "duplicate"}, S.DUPLICATE),
        ({"state_reason": "reopened", "closed_before": "completed"}, S.REGRESSED),
        ({"state_reason": "reopened", "closed_before": "not_planned"}, S.REPORTED),
        ({"closed_before": "completed", "pulls": ENDS_MERGED}, S.REGRESSED),
        ({"closed_before": "completed", "pulls": ENDS_OPEN}, S.IN_PROGRESS),
    ],
)
def test_github(fields: dict[str, Any], expected: S) -> None:
    assert observed_rule(said("github", **fields), was_fixed=False).ours == expected


@pytest.mark.parametrize(
    ("fields", "was_fixed", "expected"),
    [
        ({"state_reason": "TODO"}, False, S.REPORTED),
        ({"state_reason": "ACCEPTED"}, False, S.CONFIRMED),
        ({"state_reason": "WIP", "state": "progressing"}, False, S.IN_PROGRESS),
        ({"state_reason": "进行中", "state": "progressing"}, False, S.IN_PROGRESS),
        ({"state_reason": "anything", "state": "progressing"}, False, S.IN_PROGRESS),
        ({"state_reason": "VALIDATION", "state": "progressing"}, False, S.FIX_CLAIMED),
        ({"state_reason": "DONE", "state": "closed"}, False, S.FIX_CLAIMED),
        ({"state_reason": "已完成", "state": "closed"}, False, S.FIX_CLAIMED),
        ({"state": "closed"}, False, S.FIX_CLAIMED),
        ({"state_reason": "REJECTED", "state": "closed"}, False, S.REJECTED),
        ({"state_reason": "whatever", "state": "rejected"}, False, S.REJECTED),
        ({"state": "closed", "duplicate_of": "x"}, False, S.DUPLICATE),
        ({"state_reason": "WIP", "state": "progressing"}, True, S.REGRESSED),
        ({"state_reason": "TODO"}, True, S.REGRESSED),
        ({"pulls": ENDS_OPEN}, False, S.IN_PROGRESS),
        ({"pulls": ENDS_MERGED}, False, S.FIX_CLAIMED),
        ({"labels": ("mindspore-assistant",), "awaits_author": True}, False, S.NEEDS_INFO),
        ({"labels": ("mindspore-assistant",)}, False, S.REPORTED),
    ],
)
@pytest.mark.parametrize("site", ["gitee", "atomgit"])
def test_gitee_and_atomgit(
    site: str, fields: dict[str, Any], *, was_fixed: bool, expected: S
) -> None:
    assert observed_rule(said(site, **fields), was_fixed=was_fixed).ours == expected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.sites[0]}: {rule.says}")
def test_every_row_says_what_it_means_and_can_be_the_one_that_counts(rule: Any) -> None:
    assert rule.says
    assert rule.ours in OBSERVABLE
    assert set(rule.sites) <= set(SITES)
    fields: dict[str, Any] = {
        "state": rule.states[0] if rule.states else "open",
        "state_reason": rule.reasons[0] if rule.reasons else "",
        "labels": rule.labels[:1],
        "pulls": (Pull("u", "t", rule.pull, closes=True),) if rule.pull else (),
        "duplicate_of": "x" if rule.is_duplicate else "",
        "closed_before": "completed" if rule.came_back else "",
        "awaits_author": rule.awaits_author,
    }
    issue = said(rule.sites[0], **fields)
    assert observed_rule(issue, was_fixed=rule.came_back) is rule


def test_every_state_of_every_site_fits_a_row() -> None:
    for site, states in {
        "github": ("open", "closed"),
        "gitee": ("open", "progressing", "closed", "rejected"),
        "atomgit": ("open", "closed"),
    }.items():
        for state in states:
            assert observed_rule(said(site, state=state), was_fixed=False)


@pytest.mark.parametrize("ours", [one for one in S if one != S.DRAFT])
@pytest.mark.parametrize("observed", sorted(OBSERVABLE))
def test_what_is_proposed_can_be_taken_over(ours: S, observed: S) -> None:
    proposed = status_to_propose(ours, observed)
    if ours == observed:
        assert proposed is None
    if proposed is not None:
        assert proposed in MOVES[ours]
    # An end that upstream sees is never passed over, unless the fix was verified here.
    if observed in {S.FIX_CLAIMED, S.REJECTED, S.DUPLICATE} and ours not in {observed, S.FIXED}:
        assert proposed == observed
    # What was closed here and is open there comes back as one or the other.
    if ours in {S.FIX_CLAIMED, S.FIXED, S.REJECTED, S.DUPLICATE} and observed in {
        S.NEEDS_INFO,
        S.CONFIRMED,
        S.IN_PROGRESS,
        S.REGRESSED,
        S.REPORTED,
        S.ROUTED,
    }:
        assert proposed is not None


def test_labels_that_come_late_contradict_nothing() -> None:
    assert status_to_propose(S.CONFIRMED, S.ROUTED) is None
    assert status_to_propose(S.IN_PROGRESS, S.CONFIRMED) is None
    assert status_to_propose(S.FIXED, S.FIX_CLAIMED) is None
    assert status_to_propose(S.REPORTED, "") is None
