"""On the way to the tracker: searching, joining, posting at most once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests import factories
from tests.tracker_server import Fault, TrackerServer, tracker_settings, tracking
from triage import duplicates, filing
from triage.filing import FilingRefusedError, abandon_filing, body_of, file_report, look_for
from triage.linting.service import lint_report, override_rule
from triage.models import Filing, Report

pytestmark = pytest.mark.django_db
PLACE = "pytorch/pytorch"
CREATE = f"/repos/{PLACE}/issues"
State = Filing.State


@pytest.fixture
def server(settings: LazySettings) -> Iterator[TrackerServer]:
    with tracking() as running:
        settings.TRACKERS = tracker_settings(running, token="secret")
        yield running


@pytest.fixture
def ada() -> User:
    return factories.user("ada", is_staff=True)


@pytest.fixture
def ready(ada: User) -> Report:
    """A draft that nothing keeps from being filed: every rule that blocks was overridden."""
    draft = factories.report(who=ada)
    for row in lint_report(draft).blocking:
        override_rule(
            draft, rule=row.rule.key, seen=row.check.seen, reason="Looked at it by hand.", who=ada
        )
    assert lint_report(draft).passes
    return draft


def posts(server: TrackerServer) -> int:
    return sum((one.verb, one.path) == ("POST", CREATE) for one in server.seen)


# ----------------------------------------------------------------------------------------- posting
def test_it_is_posted_and_linked(server: TrackerServer, ready: Report, ada: User) -> None:
    made = file_report(ready, who=ada)
    (issue,) = server.issues.values()
    assert (made.state, made.url) == (State.POSTED, server.address(issue))
    assert (issue.title, issue.body) == (ready.title, body_of(ready))
    ready.refresh_from_db()
    assert (ready.status, ready.upstream_url) == ("reported", made.url)
    assert ready.events.get(kind="linked").why == "Posted through the tracker's API."
    assert "overridden" in ready.events.get(kind="filing").after


def test_body_has_the_headings_of_the_form(ready: Report) -> None:
    text = body_of(ready)
    assert text.startswith("### 🐛 Describe the bug\n\n")
    assert "\n\n### Versions\n\n" in text


def test_second_click_sends_nothing(server: TrackerServer, ready: Report, ada: User) -> None:
    file_report(ready, who=ada)
    with pytest.raises(FilingRefusedError, match="filed already"):
        file_report(Report.objects.get(pk=ready.pk), who=ada)
    assert posts(server) == 1


def test_click_while_the_first_is_under_way_sends_nothing(
    server: TrackerServer, ready: Report, ada: User
) -> None:
    Filing.objects.create(report=ready, title=ready.title, body="x", who=ada)
    with pytest.raises(FilingRefusedError, match="ada is just filing it"):
        file_report(ready, who=ada)
    assert posts(server) == 0


def test_crash_between_post_and_record_is_found_again(
    server: TrackerServer, ready: Report, ada: User
) -> None:
    """The process died after the tracker had taken it."""
    long_ago = timezone.now() - timedelta(minutes=10)
    Filing.objects.create(report=ready, title=ready.title, body="x", who=ada, created_at=long_ago)
    issue = server.add("github", PLACE, "77", ready.title)
    issue.created = timezone.now() - timedelta(minutes=9)
    made = file_report(ready, who=ada)
    assert (made.state, made.url) == (State.POSTED, server.address(issue))
    assert posts(server) == 0
    ready.refresh_from_db()
    assert ready.upstream_id == "77"


def test_answer_that_is_lost_is_looked_for_and_never_sent_twice(
    server: TrackerServer, ready: Report, ada: User
) -> None:
    server.faults = [Fault(rf"{CREATE}$", 502, times=1)]
    made = file_report(ready, who=ada)
    assert (made.state, ready.upstream_url) == (State.UNKNOWN, "")
    assert "502" in made.problem
    again = file_report(ready, who=ada)
    assert (again.pk, again.state) == (made.pk, State.UNKNOWN)
    assert posts(server) == 1
    with pytest.raises(FilingRefusedError, match="may still arrive"):
        abandon_filing(made, who=ada)
    Filing.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    abandon_filing(made, who=ada)
    assert file_report(ready, who=ada).state == State.POSTED
    assert posts(server) == 2
    assert [one.state for one in ready.filings.order_by("pk")] == [State.REFUSED, State.POSTED]


def test_answer_that_is_lost_after_it_arrived_is_found_at_once(
    server: TrackerServer, ready: Report, ada: User
) -> None:
    server.faults = [Fault(rf"{CREATE}$", 504, times=1)]
    issue = server.add("github", PLACE, "78", ready.title)
    issue.created = timezone.now()
    made = file_report(ready, who=ada)
    assert (made.state, made.url) == (State.POSTED, server.address(issue))


@pytest.mark.parametrize("status", [401, 403, 404, 422, 429])
def test_tracker_that_says_no_leaves_the_draft_as_it_was(
    server: TrackerServer, ready: Report, ada: User, status: int
) -> None:
    server.faults = [Fault(rf"{CREATE}$", status, times=1)]
    made = file_report(ready, who=ada)
    assert made.state == State.REFUSED
    ready.refresh_from_db()
    assert ready.status == "draft"
    assert file_report(ready, who=ada).state == State.POSTED


def test_older_issue_of_that_title_is_not_taken_for_it(
    server: TrackerServer, ready: Report, ada: User
) -> None:
    server.add("github", PLACE, "79", ready.title)
    made = Filing.objects.create(report=ready, title=ready.title, body="x", who=ada)
    assert look_for(made, who=ada).state == State.UNKNOWN


def test_linter_is_asked_again_before_anything_is_sent(server: TrackerServer, ada: User) -> None:
    with pytest.raises(FilingRefusedError, match="The linter objects; broken: "):
        file_report(factories.report(), who=ada)
    assert not Filing.objects.exists()
    assert not server.seen


def test_only_administrators_with_a_token_post(
    server: TrackerServer, ready: Report, ada: User, settings: LazySettings
) -> None:
    with pytest.raises(FilingRefusedError, match="Only administrators"):
        file_report(ready, who=factories.user("bob"))
    settings.TRACKERS = tracker_settings(server)
    with pytest.raises(FilingRefusedError, match="No token is set for GitHub"):
        file_report(ready, who=ada)
    assert not server.seen


# --------------------------------------------------------------------------------------- duplicates
def test_search_is_kept_and_an_issue_is_joined_instead(server: TrackerServer, ada: User) -> None:
    draft = factories.report(who=ada)
    known = server.add("github", PLACE, "5", "exp of nan under compile", labels=["triaged"])
    query = duplicates.suggested_query(draft)
    assert query == "exp compile"
    found = duplicates.search_tracker(draft, query=query, who=ada)
    (row,) = found.issues
    assert (row["url"], row["state"], row["labels"]) == (server.address(known), "open", ["triaged"])
    assert draft.events.get(kind="searched").after == "1 found"
    duplicates.join_issue(draft, url=row["url"], who=ada)
    draft.refresh_from_db()
    assert (draft.status, draft.upstream_id) == ("reported", "5")
    assert draft.events.get(kind="joined").why.startswith("An issue that was there already")
    assert posts(server) == 0


def test_search_that_fails_says_why(server: TrackerServer, ada: User) -> None:
    server.faults = [Fault("/search/issues", 500)]
    found = duplicates.search_tracker(factories.report(), query="exp", who=ada)
    assert found.issues == []
    assert "500" in found.problem


def test_own_reports_of_the_bucket_and_of_like_ones_are_shown() -> None:
    bucket = factories.bucket()
    first = factories.report(
        bucket=bucket, status="reported", upstream_url=f"https://github.com/{PLACE}/issues/1"
    )
    like = factories.report(
        bucket=factories.bucket(title=bucket.title),
        status="reported",
        upstream_url=f"https://github.com/{PLACE}/issues/2",
    )
    factories.report(bucket=bucket)
    assert duplicates.own_reports(factories.report(bucket=bucket)) == [first, like]


# -------------------------------------------------------------------------------------------- pages
def url(name: str, report: Report) -> str:
    return reverse(f"triage:{name}", args=[report.uuid])


def test_page_keeps_the_form_shut_while_a_rule_is_broken(client: Client, ada: User) -> None:
    client.force_login(ada)
    draft = factories.report(who=ada)
    page = client.get(draft.get_absolute_url()).content.decode()
    assert "issues/new?" not in page
    assert "keep it from being filed" in page
    assert "Labels it would get" in page
    assert "module: edge cases" in page


def test_rules_are_overridden_on_the_page_until_the_form_opens(client: Client, ada: User) -> None:
    client.force_login(ada)
    draft = factories.report(who=ada)
    for row in lint_report(draft).blocking:
        sent = {"rule": row.rule.key, "seen": row.check.seen, "reason": "Looked at it by hand."}
        assert client.post(url("override-rule", draft), sent).status_code == 302
    page = client.get(draft.get_absolute_url()).content.decode()
    assert "issues/new?template=pt2-bug-report.yml" in page
    assert "nothing keeps it from being filed" in page
    client.post(url("withdraw-override", draft), {"rule": "searched"})
    assert not lint_report(draft).passes


def test_override_without_a_reason_is_refused(client: Client, ada: User) -> None:
    client.force_login(ada)
    draft = factories.report(who=ada)
    row = lint_report(draft).blocking[0]
    sent = {"rule": row.rule.key, "seen": row.check.seen, "reason": "no"}
    page = client.post(url("override-rule", draft), sent, follow=True).content.decode()
    assert "Say in ten letters or more" in page
    assert not draft.overrides.exists()


def test_script_is_run_from_the_page_and_the_linter_waits_for_it(client: Client, ada: User) -> None:
    client.force_login(ada)
    draft = factories.report(who=ada)
    client.post(url("run-report-script", draft))
    assert draft.finding.reruns.get().asked_by == ada
    panel = client.get(url("show-lint", draft)).content.decode()
    assert "data-poll" in panel
    assert "waits for a worker" in panel


def test_pasted_address_keeps_what_the_linter_said(client: Client, ada: User) -> None:
    client.force_login(ada)
    draft = factories.report(who=ada)
    address = f"https://github.com/{PLACE}/issues/12"
    client.post(url("link-report", draft), {"url": address})
    assert draft.events.get(kind="linked").why.startswith("Linter: broken: ")


def test_search_and_use_this_one_on_the_page(
    client: Client, ada: User, server: TrackerServer
) -> None:
    client.force_login(ada)
    draft = factories.report(who=ada)
    known = server.add("github", PLACE, "5", "exp is wrong")
    client.post(url("search-tracker", draft), {"query": "exp"})
    page = client.get(draft.get_absolute_url()).content.decode()
    assert "Use this one" in page
    client.post(url("join-issue", draft), {"url": server.address(known)})
    draft.refresh_from_db()
    assert draft.status == "reported"
    other = factories.report(who=ada, bucket=factories.bucket(title="other"))
    page = client.post(url("join-issue", other), {"url": server.address(known)}, follow=True)
    assert "Already linked to the report" in page.content.decode()


def test_posting_asks_for_confirmation_and_shows_every_word(
    client: Client, ada: User, ready: Report, server: TrackerServer
) -> None:
    client.force_login(ada)
    page = client.get(url("confirm-filing", ready)).content.decode()
    assert "It is sent once" in page
    assert "Minimal reproducer" in page
    assert client.post(url("file-report", ready)).status_code == 422
    assert posts(server) == 0
    told = client.post(url("file-report", ready), {"confirmed": "on"}, follow=True)
    assert "Filed: " in told.content.decode()
    assert posts(server) == 1


def test_page_of_a_lost_answer_offers_to_look_and_to_give_up(
    client: Client, ada: User, ready: Report, server: TrackerServer
) -> None:
    client.force_login(ada)
    Filing.objects.create(
        report=ready,
        title=ready.title,
        body="x",
        who=ada,
        state=State.UNKNOWN,
        created_at=timezone.now() - timedelta(minutes=5),
    )
    assert (
        "Nobody knows whether it arrived" in client.get(ready.get_absolute_url()).content.decode()
    )
    client.post(url("look-for-filing", ready))
    assert filing.open_filing(ready) is not None
    client.post(url("abandon-filing", ready))
    assert filing.open_filing(ready) is None
    assert posts(server) == 0


def test_person_who_is_no_administrator_cannot_post(
    client: Client, ready: Report, server: TrackerServer
) -> None:
    client.force_login(factories.user("bob"))
    page = client.get(ready.get_absolute_url()).content.decode()
    assert "Only administrators post through the API." in page
    client.post(url("file-report", ready), {"confirmed": "on"})
    assert posts(server) == 0


@pytest.mark.parametrize("name", ["confirm-filing", "show-lint"])
def test_anonymous_visitors_are_asked_to_log_in(client: Client, name: str) -> None:
    response = client.get(url(name, factories.report()))
    assert (response.status_code, "/login/" in response.headers["Location"]) == (302, True)


# ---------------------------------------------------------------------------------------------- API
def api(report: Report, action: str) -> str:
    return f"/api/reports/{report.uuid}/{action}/"


def send(client: Client, address: str, **given: object) -> tuple[int, dict[str, object]]:
    response = client.post(address, given, content_type="application/json")
    return response.status_code, response.json()


def test_api_lints_overrides_and_withdraws(client: Client, ada: User) -> None:
    client.force_login(ada)
    draft = factories.report(who=ada)
    lint = client.get(api(draft, "lint")).json()
    assert lint["passes"] is False
    rows = {row["rule"]: row for row in lint["rules"]}
    assert rows["searched"]["verdict"] == "not known yet"
    assert {"name": "topic: fuzzer", "why": lint["labels"][0]["why"]} in lint["labels"]
    seen = rows["searched"]["seen"]
    status, body = send(
        client, api(draft, "override"), rule="searched", seen=seen, reason="Searched by hand."
    )
    assert status == 200
    assert not next(row for row in body["rules"] if row["rule"] == "searched")["blocks"]  # type: ignore[attr-defined,index]
    assert (
        send(client, api(draft, "override"), rule="searched", seen="x", reason="1234567890")[0]
        == 409
    )
    assert (
        send(client, api(draft, "override"), rule="nothing", seen="x", reason="1234567890")[0]
        == 400
    )
    assert send(client, api(draft, "withdraw"), rule="searched")[0] == 200
    assert not draft.overrides.exists()


def test_api_searches_joins_and_posts(
    client: Client, ada: User, ready: Report, server: TrackerServer
) -> None:
    client.force_login(ada)
    known = server.add("github", PLACE, "5", "exp compile")
    status, found = send(client, api(ready, "search"))
    assert (status, found["query"], len(found["issues"])) == (200, "exp compile", 1)  # type: ignore[arg-type]
    assert send(client, api(ready, "post"), confirmed=False)[0] == 400
    status, made = send(client, api(ready, "post"), confirmed=True)
    assert (status, made["state"]) == (200, "posted")
    assert send(client, api(ready, "post"), confirmed=True)[0] == 409
    assert send(client, api(ready, "join"), url=server.address(known))[0] == 409
    other = factories.report(who=ada, bucket=factories.bucket(title="other"))
    assert send(client, api(other, "join"), url=server.address(known))[0] == 200
    client.force_login(factories.user("bob"))
    assert send(client, api(other, "post"), confirmed=True)[0] == 403
