"""Pages of the life cycle: table, board, what the tracker says, proposals, reminders."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from tests import factories
from triage.mapping import RULES
from triage.models import Following, Report, SitePause
from triage.reminders import Kind, reminders
from triage.reporting import allowed_moves

pytestmark = pytest.mark.django_db
numbers = iter(range(1, 10_000))


def filed(
    status: str = "reported", *, following: dict[str, Any] | None = None, **fields: Any
) -> Report:
    """A report that is followed."""
    url = f"https://github.com/pytorch/pytorch/issues/{next(numbers)}"
    report = factories.report(
        status=status, upstream_url=url, upstream_id=url.rpartition("/")[2], **fields
    )
    values = {"observed": "reported", "state": "open", "site": "github", "address": url}
    Following.objects.create(report=report, **(values | (following or {})))
    return report


def at(name: str, report: Report) -> str:
    return reverse(f"triage:{name}", args=[report.uuid])


# ---------------------------------------------------------------------------------------- the lists
@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("path", ["/triage/reports/", "/triage/reports/board/"])
def test_lists_are_filtered_the_same_way(client: Client, path: str) -> None:
    filed(title="open one", following={"labels": ["module: inductor"], "observed": "routed"})
    filed("rejected", title="refused one")
    factories.report(title="a draft")
    for query, shown in {
        "": {"open one", "refused one", "a draft"},
        "status=open": {"open one", "a draft"},
        "status=rejected&status=draft": {"refused one", "a draft"},
        "observed=routed": {"open one"},
        "observed=none": {"a draft"},
        "q=inductor": {"open one"},
        "q=one+refused": {"refused one"},
        "tracker=mindspore": set(),
        "symptom=crash": set(),
        "proposed=true": set(),
    }.items():
        # What asks for a person is listed whatever the filter is.
        text = client.get(f"{path}?{query}").content.decode().partition('role="search"')[2]
        assert {one for one in ("open one", "refused one", "a draft") if one in text} == shown, (
            query
        )


@pytest.mark.usefixtures("person")
def test_table_sorts_and_says_so(client: Client) -> None:
    filed(title="b", following={"last_activity": timezone.now()})
    filed(title="a", following={"last_activity": timezone.now() - timedelta(days=3)})
    factories.report(title="c")
    for sort, order in {
        "title": "abc",
        "-title": "cba",
        "activity": "abc",
        "-activity": "bac",
    }.items():
        page = client.get(f"/triage/reports/?sort={sort}")
        assert "".join(one.title for one in page.context["page"]) == order, sort
        assert "aria-sort" in page.content.decode()
    assert client.get("/triage/reports/?sort=nonsense&page=99").status_code == 200


@pytest.mark.usefixtures("person")
def test_lists_make_the_same_number_of_queries_at_any_size(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    for path in ("/triage/reports/", "/triage/reports/board/"):
        for _ in range(5):
            filed(
                "fix_claimed", following={"observed": "fix_claimed", "observed_at": timezone.now()}
            )
        with django_assert_max_num_queries(11):
            client.get(path)


@pytest.mark.usefixtures("person")
def test_board_has_a_lane_for_each_status_and_a_card_its_moves(client: Client) -> None:
    reports = {
        status: filed(status, title=f"is {status}") for status in Report.Status if status != "draft"
    }
    page = client.get("/triage/reports/board/")
    assert [lane.status for lane in page.context["lanes"]] == list(Report.Status)
    for lane in page.context["lanes"]:
        assert lane.count == (lane.status != "draft")
        for card in lane.cards:
            assert card.report == reports[lane.status]
            assert list(card.moves) == allowed_moves(lane.status)


def test_card_is_moved_by_a_button_and_the_board_comes_back(client: Client, person: User) -> None:
    report = filed()
    given = {"to": "confirmed", "why": "eve said so", "query": "status=open"}
    response = client.post(at("move-report-card", report), given)
    assert response["Location"] == f"/triage/reports/board/?status=open#report-{report.uuid}"
    report.refresh_from_db()
    assert report.status == "confirmed"
    last = report.events.last()
    assert last is not None
    assert (last.who, last.why) == (person, "eve said so")


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("to", ["fixed", "draft", "nonsense", ""])
def test_move_that_the_table_forbids_is_refused_in_words(client: Client, to: str) -> None:
    report = filed()
    page = client.post(at("move-report-card", report), {"to": to}, follow=True).content.decode()
    assert "cannot become" in page or "Choose a status" in page
    report.refresh_from_db()
    assert report.status == "reported"


@pytest.mark.usefixtures("person")
def test_full_lane_names_how_many_are_left(client: Client) -> None:
    for _ in range(27):
        filed("rejected")
    page = client.get("/triage/reports/board/").content.decode()
    assert "2 more in the table" in page


@pytest.mark.usefixtures("person")
def test_mapping_page_shows_every_row(client: Client) -> None:
    page = client.get("/triage/reports/mapping/").content.decode()
    for rule in RULES:
        assert escape(rule.says) in page


# ------------------------------------------------------------------------------ what is proposed
@pytest.mark.parametrize("path", ["/triage/reports/board/", ""])
def test_proposal_is_taken_over_with_one_click(client: Client, person: User, path: str) -> None:
    report = filed(
        proposed="routed", proposed_by="upstream", proposed_why="GitHub says: “triaged”."
    )
    page = client.get(path or report.get_absolute_url()).content.decode()
    assert "Take it over" in page
    assert "GitHub says: “triaged”." in page
    back = path or report.get_absolute_url()
    response = client.post(at("take-over-report", report), {"to": "routed", "next": back})
    assert response["Location"] == back
    report.refresh_from_db()
    assert (report.status, report.proposed) == ("routed", "")
    assert "Take it over" not in client.get(report.get_absolute_url()).content.decode()


@pytest.mark.usefixtures("person")
def test_proposal_is_declined_with_one_click(client: Client) -> None:
    report = filed(proposed="rejected", proposed_by="upstream")
    client.post(at("keep-report-status", report), {"next": "https://evil.example/"})
    report.refresh_from_db()
    assert (report.status, report.proposed) == ("reported", "")
    assert report.events.get(kind="kept").before == "rejected"


@pytest.mark.usefixtures("person")
def test_button_never_leads_elsewhere(client: Client) -> None:
    report = filed(proposed="routed")
    given = {"to": "routed", "next": "https://evil.example/"}
    assert (
        client.post(at("take-over-report", report), given)["Location"] == report.get_absolute_url()
    )


@pytest.mark.usefixtures("person")
def test_stale_button_says_so(client: Client) -> None:
    report = filed(proposed="rejected")
    page = client.post(at("take-over-report", report), {"to": "routed"}, follow=True)
    assert "Another status is proposed by now" in page.content.decode()
    report.refresh_from_db()
    assert report.status == "reported"


# ------------------------------------------------------------------------------- what upstream says
@pytest.mark.usefixtures("person")
def test_page_shows_what_the_tracker_says_as_text(client: Client) -> None:
    report = filed(
        following={
            "observed": "duplicate",
            "observed_why": "closed as a duplicate",
            "state": "closed",
            "state_reason": "duplicate",
            "labels": ["<script>alert(1)</script>"],
            "assignees": ["eve"],
            "pulls": [
                {"url": "javascript:alert(1)", "title": "Mend", "state": "open", "closes": False}
            ],
            "duplicate_of": "https://github.com/pytorch/pytorch/issues/900000",
            "original_observed": "fix_claimed",
            "awaits_author": True,
        }
    )
    text = client.get(report.get_absolute_url()).content.decode()
    for said in (
        "closed as a duplicate",
        "eve",
        "Mend",
        "mentions it",
        "900000",
        "Fix claimed",
        "not ours",
    ):
        assert said in text
    assert "<script>alert(1)" not in text
    assert 'href="javascript:' not in text
    assert "We say “reported”." in text


@pytest.mark.usefixtures("person")
def test_trouble_is_shown_with_what_was_seen_last(client: Client) -> None:
    report = filed(
        following={
            "problem": "GET ...: 404",
            "problem_kind": "not_found",
            "failures": 3,
            "seen_at": timezone.now(),
        }
    )
    text = client.get(report.get_absolute_url()).content.decode()
    assert "GET ...: 404 3 times in a row." in text
    SitePause.objects.create(
        site="github", until=timezone.now() + timedelta(hours=1), why="Slow down."
    )
    for path in (report.get_absolute_url(), "/triage/reports/"):
        assert "GitHub limits requests." in client.get(path).content.decode()
    page = client.post(at("ask-upstream", report), follow=True).content.decode()
    assert "GitHub limits requests: Slow down." in page


@pytest.mark.usefixtures("person")
def test_asking_makes_it_due_and_the_panel_looks_again(client: Client) -> None:
    report = filed()
    assert 'hx-trigger="load' not in client.get(at("show-upstream", report)).content.decode()
    page = client.post(at("ask-upstream", report), follow=True).content.decode()
    assert "The tracker is asked within seconds." in page
    assert Following.objects.get().next_at is not None
    assert 'hx-trigger="load delay:2s"' in client.get(at("show-upstream", report)).content.decode()
    assert client.post(at("ask-upstream", factories.report())).status_code == 404


@pytest.mark.usefixtures("person")
def test_moved_issue_is_linked_anew_with_one_click(client: Client) -> None:
    new = "https://github.com/pytorch/inductor/issues/31"
    report = filed(following={"address": new})
    old = report.upstream_url
    assert "Moved to" in client.get(report.get_absolute_url()).content.decode()
    client.post(at("adopt-address", report))
    report.refresh_from_db()
    assert (report.upstream_url, report.upstream_id) == (new, "31")
    text = client.get(report.get_absolute_url()).content.decode()
    assert "Earlier addresses" in text
    assert old in text
    assert "Moved to" not in text


@pytest.mark.usefixtures("person")
def test_new_address_of_another_report_is_not_taken(client: Client) -> None:
    other = filed()
    report = filed(following={"address": other.upstream_url})
    page = client.post(at("adopt-address", report), follow=True).content.decode()
    assert "Already linked to the report" in page


@pytest.mark.usefixtures("person")
def test_raw_answers_are_downloaded(client: Client) -> None:
    report = filed()
    report.answers.create(
        address="x", kind="answer", parts={"issue": {"body": {"a": 1}, "etag": ""}}
    )
    [answer] = client.get(at("download-answers", report)).json()["answers"]
    assert answer["parts"]["issue"]["body"] == {"a": 1}
    assert answer["asked_at"]


@pytest.mark.usefixtures("person")
def test_bucket_page_shows_the_upstream_state(client: Client) -> None:
    report = filed(following={"observed": "in_progress", "observed_at": timezone.now()})
    text = client.get(report.bucket.get_absolute_url()).content.decode()
    assert "upstream in progress" in text


def test_strangers_change_nothing(client: Client) -> None:
    report = filed(proposed="routed")
    for name in (
        "take-over-report",
        "keep-report-status",
        "ask-upstream",
        "adopt-address",
        "move-report-card",
    ):
        assert client.post(at(name, report), {"to": "routed"})["Location"].startswith(
            "/account/login/"
        )
    report.refresh_from_db()
    assert (report.status, report.proposed) == ("reported", "routed")


# ----------------------------------------------------------------------------------- what reminds
def kinds(report: Report) -> set[Kind]:
    return {one.kind for one in reminders() if one.report == report}


def test_nothing_reminds_of_what_goes_well() -> None:
    filed()
    factories.report()
    filed("fixed", following={"observed": "fix_claimed", "observed_at": timezone.now()})
    assert reminders() == ()


def test_draft_that_lies_for_long() -> None:
    report = factories.report(updated_at=factories.days_ago(8))
    [one] = reminders()
    assert (one.kind, one.report) == (Kind.DRAFT, report)
    assert "8 days" in one.text


def test_question_that_waits_for_us() -> None:
    assert kinds(filed(following={"observed": "needs_info"})) == {Kind.ANSWER}
    assert kinds(filed("needs_info")) == {Kind.ANSWER}


@pytest.mark.parametrize(
    ("days", "text"), [(8, "in 6 days"), (13, "in a day"), (20, "any time now")]
)
def test_help_desk_closes_after_fourteen_silent_days(days: int, text: str) -> None:
    filed(
        tracker="mindspore",
        following={
            "site": "atomgit",
            "labels": ["mindspore-assistant"],
            "awaits_author": True,
            "last_activity": factories.days_ago(days),
        },
    )
    [one] = reminders()
    assert one.kind == Kind.ANSWER
    assert text in one.text


def test_silence_at_mindspore_but_not_at_pytorch() -> None:
    silent = {"last_activity": factories.days_ago(15)}
    assert kinds(filed(tracker="mindspore", following=silent)) == {Kind.SILENT}
    assert kinds(filed(tracker="pytorch", following=silent)) == set()
    recent = {"last_activity": factories.days_ago(13)}
    assert kinds(filed(tracker="mindspore", following=recent)) == set()


@pytest.mark.parametrize("observed", ["fix_claimed", "rejected", "duplicate"])
def test_closed_upstream_but_still_failing(observed: str) -> None:
    report = filed(
        "fix_claimed", following={"observed": observed, "observed_at": factories.days_ago(2)}
    )
    assert kinds(report) == {Kind.VERIFY}
    done = {"finding": report.finding, "state": "finished", "attempts": 1}
    factories.rerun(**done, endings=["reproduced"], ended_at=factories.days_ago(3))
    assert kinds(report) == {Kind.VERIFY}  # that was before
    factories.rerun(**done, endings=["reproduced"], ended_at=factories.days_ago(1))
    assert kinds(report) == {Kind.STILL_FAILS}
    factories.rerun(**done, endings=["passed"], ended_at=timezone.now())
    assert kinds(report) == {Kind.VERIFY}  # the newest counts


def test_proposals_and_lost_issues() -> None:
    assert kinds(filed("rejected", proposed="reported")) == {Kind.PROPOSED}
    assert kinds(filed(following={"problem": "410", "problem_kind": "gone"})) == {Kind.LOST}
    assert (
        kinds(filed(following={"problem": "x", "problem_kind": "server", "failures": 2})) == set()
    )
    assert kinds(filed(following={"problem": "x", "problem_kind": "server", "failures": 3})) == {
        Kind.LOST
    }


@pytest.mark.usefixtures("person")
def test_reminders_are_on_the_overview_and_over_the_lists(client: Client) -> None:
    filed(title="asked about exp", following={"observed": "needs_info"})
    for path in ("/", "/triage/reports/", "/triage/reports/board/"):
        text = client.get(path).content.decode()
        assert "waits for us" in text
        assert "asked about exp" in text


# --------------------------------------------------------------------------------------------- API
@pytest.mark.usefixtures("person")
def test_api_tells_and_does_the_same(client: Client) -> None:
    report = filed(
        proposed="routed",
        proposed_by="upstream",
        following={
            "observed": "routed",
            "labels": ["triaged"],
            "pulls": [{"url": "u", "title": "t", "state": "open", "closes": True}],
        },
    )
    report.answers.create(address="x", kind="answer", labels=["triaged"], parts={})
    path = f"/api/reports/{report.uuid}/"
    data = client.get(path).json()
    assert data["upstream"]["labels"] == ["triaged"]
    assert data["upstream"]["pulls"][0]["closes"] is True
    assert data["proposed"] == "routed"
    assert (
        client.get("/api/reports/?proposed=true&observed=routed&status=open").json()["count"] == 1
    )
    assert client.get("/api/reports/?proposed=false").json()["count"] == 0
    assert [one["kind"] for one in client.get("/api/reports/reminders/").json()] == [
        "status proposed"
    ]
    assert client.get("/api/reports/mapping/").json()[0]["ours"] == "duplicate"
    assert client.get(f"{path}answers/").json()[0]["labels"] == ["triaged"]
    post = {"content_type": "application/json"}
    assert client.post(f"{path}take-over/", {"to": "rejected"}, **post).status_code == 409
    assert client.post(f"{path}take-over/", {"to": "routed"}, **post).json()["status"] == "routed"
    assert client.post(f"{path}keep/", {"why": "no"}, **post).json()["proposed"] == ""
    assert client.post(f"{path}ask/", {}, **post).json()["upstream"]["next_at"]
    assert [one["kind"] for one in client.get(f"{path}history/").json()] == ["drafted", "moved"]
    unfollowed = factories.report()
    assert client.post(f"/api/reports/{unfollowed.uuid}/ask/", {}, **post).status_code == 409
    assert client.get(f"/api/reports/{unfollowed.uuid}/").json()["upstream"] is None
