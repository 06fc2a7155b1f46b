"""Following reports upstream: what is written down, proposed, paused and never overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from tests import factories
from tests.tracker_server import Fault, Issue, Pull, TrackerServer, tracker_settings, tracking
from triage import polling, proposals, reporting
from triage.following import (
    LEASE,
    FollowHint,
    ask_now,
    begin_following,
    claim_following,
    sweep_following,
)
from triage.models import Bucket, Following, Report, SitePause, UpstreamAnswer
from triage.services import MoveRefusedError

pytestmark = pytest.mark.django_db
PLACE, MIND = "pytorch/pytorch", "mindspore/mindspore"
S = Report.Status


@pytest.fixture
def server(settings: LazySettings) -> Iterator[TrackerServer]:
    with tracking() as running:
        settings.TRACKERS = tracker_settings(running)
        yield running


@pytest.fixture
def issue(server: TrackerServer) -> Issue:
    return server.add("github", PLACE, "7", "exp of NaN")


@pytest.fixture
def report(issue: Issue, server: TrackerServer) -> Report:
    """A report that a person has just linked."""
    made = factories.report()
    return reporting.link_report(made, url=server.address(issue), who=factories.user())


def poll(report: Report, *, now: datetime | None = None) -> Following:
    """Ask now, whatever the time of the next is, and read both rows again."""
    following = Following.objects.get(report=report)
    moment = now or timezone.now()
    Following.objects.filter(pk=following.pk).update(next_at=moment)
    following.refresh_from_db()
    assert follow(FollowHint.of(following), now=moment)
    report.refresh_from_db()
    following.refresh_from_db()
    return following


def follow(hint: FollowHint, *, now: datetime | None = None) -> bool:
    """What a worker does with the message."""
    return polling.follow_report(hint.following, due=hint.due, now=now)


def test_linked_report_is_due_at_once_and_asked_once(report: Report) -> None:
    [hint] = sweep_following()
    assert follow(hint)
    assert not follow(hint)  # delivered twice
    assert sweep_following() == []
    following = Following.objects.get()
    assert (following.observed, following.state, following.title) == (
        "reported",
        "open",
        "exp of NaN",
    )
    assert following.next_at is not None
    assert following.next_at > timezone.now() + timedelta(minutes=59)
    report.refresh_from_db()
    assert (report.status, report.proposed) == ("reported", "")


def test_worker_that_died_leaves_it_due_again(report: Report) -> None:
    following = Following.objects.get()
    due = following.next_at
    assert due is not None
    now = timezone.now()
    assert claim_following(following.pk, due=due, now=now) is not None
    assert sweep_following(now=now) == []
    assert len(sweep_following(now=now + LEASE)) == 1


def test_every_answer_is_kept_with_its_time_and_the_same_again_is_counted(
    report: Report, issue: Issue
) -> None:
    poll(report)
    poll(report)
    [answer] = report.answers.all()
    assert (answer.kind, answer.times, answer.state, answer.observed) == (
        "answer",
        2,
        "open",
        "reported",
    )
    assert answer.last_at > answer.asked_at
    assert answer.parts["issue"]["body"]["title"] == "exp of NaN"
    issue.labels = ["triaged"]
    poll(report)
    newest, oldest = report.answers.all()
    assert (newest.labels, newest.observed) == (["triaged"], "routed")
    assert oldest.pk == answer.pk


def test_machine_sets_only_what_it_observes_and_a_person_takes_it_over(
    report: Report, issue: Issue
) -> None:
    poll(report)
    issue.labels = ["triaged"]
    following = poll(report)
    assert (report.status, report.proposed, report.proposed_by) == (
        "reported",
        "routed",
        "upstream",
    )
    assert following.observed == "routed"
    assert "“triaged”" in report.proposed_why
    ada = factories.user("ada")
    moved = proposals.take_over(report, to="routed", who=ada)
    assert (moved.status, moved.proposed) == ("routed", "")
    last = moved.events.last()
    assert last is not None
    assert (last.kind, last.who, last.before, last.after) == ("moved", ada, "reported", "routed")
    assert poll(report).report.proposed == ""


def test_person_keeps_what_is_and_is_not_asked_again_until_upstream_changes(
    report: Report, issue: Issue
) -> None:
    issue.close("not_planned")
    poll(report)
    assert report.proposed == "rejected"
    proposals.keep_status(report, who=factories.user(), why="They misread it.")
    assert poll(report).report.proposed == ""
    assert report.status == "reported"
    issue.reopen()
    issue.close("completed")
    poll(report)
    assert report.proposed == "fix_claimed"


def test_another_proposal_than_the_person_saw_is_not_taken_over(
    report: Report, issue: Issue
) -> None:
    issue.labels = ["triaged"]
    poll(report)
    issue.close("completed")
    poll(report)
    with pytest.raises(MoveRefusedError, match="by now"):
        proposals.take_over(report, to="routed", who=factories.user())
    report.refresh_from_db()
    assert (report.status, report.proposed) == ("reported", "fix_claimed")


def test_proposal_is_withdrawn_when_upstream_agrees_again(report: Report, issue: Issue) -> None:
    issue.close("completed")
    poll(report)
    assert report.proposed == "fix_claimed"
    issue.state, issue.reason, issue.events = "open", None, []
    poll(report)
    assert (report.status, report.proposed) == ("reported", "")
    assert report.events.filter(kind="withdrawn").exists()


def test_closing_raises_a_flag_on_the_bucket_and_leaves_its_status(
    report: Report, issue: Issue
) -> None:
    issue.close("completed")
    poll(report)
    bucket = Bucket.objects.get()
    assert (bucket.status, bucket.flag) == ("reported", "closed_upstream")


def test_duplicate_is_followed_to_its_original(
    report: Report, issue: Issue, server: TrackerServer
) -> None:
    original = server.add("github", PLACE, "5", "the original")
    issue.say("maintainer", "Duplicate of #5")
    issue.close("not_planned")
    following = poll(report)
    assert (following.observed, following.original_observed) == ("duplicate", "reported")
    assert following.duplicate_of == server.address(original)
    proposals.take_over(report, to="duplicate", who=factories.user())
    original.close("completed")
    following = poll(report)
    assert (following.observed, following.original_observed) == ("duplicate", "fix_claimed")
    assert (report.status, report.proposed) == ("duplicate", "fix_claimed")
    assert report.answers.filter(is_of_original=True).count() == 2


def test_circle_of_duplicates_ends(report: Report, issue: Issue, server: TrackerServer) -> None:
    other = server.add("github", PLACE, "5", "the other")
    for one, number in ((issue, 5), (other, 7)):
        one.say("maintainer", f"Duplicate of #{number}")
        one.close("duplicate")
    assert poll(report).original_observed == "duplicate"


def test_original_that_cannot_be_read_leaves_the_report_readable(
    report: Report, issue: Issue
) -> None:
    issue.say("maintainer", "Duplicate of #5")
    issue.close("duplicate")
    following = poll(report)
    assert following.observed == "duplicate"
    assert "What it duplicates could not be read." in following.problem
    assert following.failures == 0


def test_moved_issue_is_asked_for_where_it_is_and_the_old_link_is_kept(
    report: Report, issue: Issue, server: TrackerServer
) -> None:
    old = report.upstream_url
    server.move(issue, place="pytorch/inductor", number="31")
    following = poll(report)
    assert following.address == server.address(issue)
    assert report.upstream_url == old  # a person linked that
    assert [one.address for one in report.past_addresses.all()] == [old]
    issue.labels = ["triaged"]
    assert poll(report).observed == "routed"
    reporting.link_report(report, url=following.address, who=factories.user())
    following.refresh_from_db()  # the same row: nothing seen is forgotten
    assert following.observed == "routed"
    assert [one.address for one in report.past_addresses.all()] == [old]


def test_report_that_is_linked_elsewhere_starts_anew_and_keeps_its_answers(
    report: Report, server: TrackerServer
) -> None:
    poll(report)
    other = server.add("gitee", MIND, "I5LBGV", "exp of NaN")
    reporting.link_report(report, url=server.address(other), who=factories.user())
    following = Following.objects.get()
    assert (following.site, following.observed) == ("gitee", "")
    assert report.past_addresses.count() == 1
    assert poll(report).observed == "reported"
    assert report.answers.count() == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("issues/7", 404), "not_found"),
        (Fault("issues/7", 410), "gone"),
        (Fault("issues/7", 401), "refused"),
        (Fault("issues/7", 500, "oops"), "server"),
        (Fault("issues/7", 200, "<html>"), "unreadable"),
        (Fault("issues/7", 301, "", {"Location": "https://b.example/"}), "unreadable"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_trouble_is_seen_and_harmless(
    report: Report, server: TrackerServer, fault: Fault, kind: str
) -> None:
    poll(report)
    server.faults.append(fault)
    now = timezone.now()
    following = poll(report, now=now)
    assert (following.problem_kind, following.failures) == (kind, 1)
    assert following.problem
    assert following.observed == "reported"  # what was seen last stays
    assert (report.status, report.proposed) == ("reported", "")
    first = following.next_at
    following = poll(report, now=now)
    assert following.next_at is not None
    assert first is not None
    assert following.next_at >= first  # later each time
    answer = report.answers.first()
    assert answer is not None
    status = 0 if fault.status == 301 else fault.status  # the library does not tell it
    assert (answer.kind, answer.times, answer.status) == (kind, 2, status)
    server.faults.clear()
    following = poll(report)
    assert (following.problem, following.problem_kind, following.failures) == ("", "", 0)


def test_tracker_that_nobody_reaches(report: Report, settings: LazySettings) -> None:
    poll(report)
    settings.TRACKERS = {
        **settings.TRACKERS,
        "github": {**settings.TRACKERS["github"], "api": "http://127.0.0.1:9"},
    }
    following = poll(report)
    assert following.problem_kind == "unreachable"
    assert following.next_at is not None


def test_limit_pauses_the_whole_tracker_and_no_other(report: Report, server: TrackerServer) -> None:
    other = server.add("github", PLACE, "8", "another")
    mind = server.add("atomgit", MIND, "9", "third")
    for one in (other, mind):
        reporting.link_report(factories.report(), url=server.address(one), who=factories.user())
    server.faults.append(Fault("issues/7", 429, headers={"Retry-After": "600"}))
    now = timezone.now()
    following = poll(report, now=now)
    pause = SitePause.objects.get()
    assert pause.site == "github"
    assert following.next_at == pause.until
    assert following.failures == 0
    due = [
        Following.objects.get(pk=one.following).site for one in sweep_following(now=timezone.now())
    ]
    assert due == ["atomgit"]
    waiting = Following.objects.get(report__upstream_id="8")
    assert not follow(FollowHint.of(waiting))  # even where a message says so
    later = pause.until + timedelta(seconds=1)
    assert {one.following for one in sweep_following(now=later)} >= {following.pk, waiting.pk}


def test_answer_for_a_report_that_was_linked_elsewhere_meanwhile_is_dropped(
    report: Report, issue: Issue, server: TrackerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue.close("completed")
    other = server.add("github", PLACE, "8", "another")
    ask = polling._ask

    def ask_and_relink(following: Following) -> Any:
        told = ask(following)
        reporting.link_report(report, url=server.address(other), who=factories.user())
        return told

    monkeypatch.setattr(polling, "_ask", ask_and_relink)
    [hint] = sweep_following()
    follow(hint)
    following = Following.objects.get()
    assert (following.address, following.observed) == (server.address(other), "")
    assert not UpstreamAnswer.objects.exists()


def test_settled_reports_are_asked_after_once_a_day(report: Report, issue: Issue) -> None:
    issue.close("not_planned")
    now = timezone.now()
    following = poll(report, now=now)
    assert following.next_at is not None
    assert following.next_at - now < timedelta(hours=2)  # not settled: we say otherwise
    proposals.take_over(report, to="rejected", who=factories.user())
    following = poll(report, now=now)
    assert following.next_at is not None
    assert following.next_at - now >= timedelta(days=1)


def test_nothing_is_asked_by_itself_where_following_is_off(
    settings: LazySettings, issue: Issue, server: TrackerServer
) -> None:
    settings.FOLLOW_MINUTES = 0
    report = reporting.link_report(
        factories.report(), url=server.address(issue), who=factories.user()
    )
    assert sweep_following() == []
    assert server.seen == []
    following = Following.objects.get(report=report)
    ask_now(following)
    [hint] = sweep_following()
    assert follow(hint)
    following.refresh_from_db()
    assert (following.observed, following.next_at) == ("reported", None)


def test_address_on_no_known_tracker_is_not_followed(server: TrackerServer) -> None:
    report = reporting.link_report(
        factories.report(), url="https://a.example/7", who=factories.user()
    )
    assert begin_following(report) is None
    assert sweep_following() == []
    assert not Following.objects.exists()


def test_reports_of_earlier_versions_are_followed_too(issue: Issue, server: TrackerServer) -> None:
    factories.report(status="reported", upstream_url=server.address(issue), upstream_id="7")
    assert not Following.objects.exists()
    assert len(sweep_following()) == 1


def test_fix_of_mindspore_that_did_not_hold_comes_back(server: TrackerServer) -> None:
    issue = server.add("atomgit", MIND, "9", "exp of NaN")
    report = reporting.link_report(
        factories.report(), url=server.address(issue), who=factories.user()
    )
    steps = [
        ("open", "ACCEPTED", "confirmed"),
        ("open", "WIP", "in_progress"),
        ("open", "VALIDATION", "fix_claimed"),
        ("open", "WIP", "regressed"),
        ("closed", "DONE", "fix_claimed"),
        ("closed", "REJECTED", "rejected"),
        ("open", "TODO", "reported"),
    ]
    for state, reason, observed in steps:
        issue.state, issue.reason = state, reason
        assert poll(report).observed == observed, reason


def test_linked_pull_requests_move_the_report(report: Report, issue: Issue) -> None:
    pull = Pull(9, "Mend exp", "Fixes #7")
    issue.mention(pull)
    following = poll(report)
    assert (following.observed, following.pulls[0]["title"]) == ("in_progress", "Mend exp")
    pull.state, pull.labels = "closed", ["Merged"]
    assert poll(report).observed == "fix_claimed"
    issue.close("completed")
    issue.reopen()
    assert poll(report).observed == "regressed"
