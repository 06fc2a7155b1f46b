"""The GitHub client: its requests against GitHub's own description, and every kind of answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from django.conf import LazySettings

from tests.github_description import assert_answer_fits, assert_request_fits
from tests.tracker_server import (
    ACCOUNT,
    Fault,
    Issue,
    Pull,
    TrackerServer,
    tracker_settings,
    tracking,
)
from triage.upstream import github
from triage.upstream.client import TrackerClient
from triage.upstream.errors import (
    GoneError,
    NotFoundError,
    RateLimitedError,
    RefusedError,
    ServerError,
    UnreachableError,
    UnreadableError,
    UpstreamError,
)
from triage.upstream.issue import Reference
from triage.upstream.sites import client_at, client_for, reference_in

PLACE = "pytorch/pytorch"
REF = Reference("github", "pytorch", "pytorch", "7")
TITLE = "torch.compile gives a wrong exp for NaN"


@pytest.fixture
def server(settings: LazySettings) -> Iterator[TrackerServer]:
    """The tracker; whatever was asked of it fits GitHub's description."""
    with tracking() as running:
        settings.TRACKERS = tracker_settings(running, token="secret")
        yield running
    for seen in running.seen:
        assert_request_fits(seen)


@pytest.fixture
def issue(server: TrackerServer) -> Issue:
    return server.add("github", PLACE, "7", TITLE, body="It does.")


@pytest.fixture
def client(server: TrackerServer) -> TrackerClient:
    return client_for("pytorch")


@pytest.mark.usefixtures("issue")
def test_local_tracker_answers_in_the_shape_that_github_describes(
    server: TrackerServer, issue: Issue
) -> None:
    issue.labels, issue.assignees = ["triaged"], ["eve"]
    issue.say("maintainer", "Duplicate of #5")
    issue.mention(Pull(9, "Mend exp", "Fixes #7"))
    issue.close("not_planned")
    issue.reopen()
    issue.close("completed")
    one = f"/repos/{PLACE}/issues/7"
    secret = {"Authorization": "Bearer secret"}
    for path in (one, f"{one}/timeline", f"/repos/{PLACE}/issues", "/user"):
        answer = httpx.get(f"{server.url}/github{path}", headers=secret)
        assert_answer_fits("GET", path, answer.status_code, answer.json())
    query = {"q": f"exp repo:{PLACE}"}
    answer = httpx.get(f"{server.url}/github/search/issues", params=query)
    assert_answer_fits("GET", "/search/issues", 200, answer.json())
    for path, sent in (
        (f"/repos/{PLACE}/issues", {"title": "a"}),
        (f"{one}/comments", {"body": "b"}),
    ):
        answer = httpx.post(f"{server.url}/github{path}", json=sent, headers=secret)
        assert_answer_fits("POST", path, 201, answer.json())


def test_description_refuses_what_it_does_not_describe(server: TrackerServer) -> None:
    httpx.get(f"{server.url}/github/repos/{PLACE}/issues/7?nonsense=1")
    httpx.get(f"{server.url}/github/repos/{PLACE}/issues?state=ajar")
    httpx.post(f"{server.url}/github/repos/{PLACE}/issues", json={"body": "no title"})
    for seen in server.seen:
        with pytest.raises(AssertionError, match=r"nonsense|ajar|title"):
            assert_request_fits(seen)
    server.seen.clear()


def test_issue_is_read_with_all_that_the_life_cycle_needs(
    issue: Issue, client: TrackerClient, server: TrackerServer
) -> None:
    issue.labels, issue.assignees = ["triaged", "module: inductor"], ["eve", "bob"]
    issue.say("maintainer", "Can you run it on nightly?")
    issue.say("stale[bot]", "No answer so far.")
    issue.mention(Pull(8, "Mentions it only", "See #7", state="closed"))
    issue.mention(Pull(9, "Mend exp", "Fixes #7"))
    found = client.fetch(REF)
    assert (found.title, found.body, found.state, found.author) == (
        TITLE,
        "It does.",
        "open",
        ACCOUNT,
    )
    assert (found.labels, found.assignees) == (("triaged", "module: inductor"), ("eve", "bob"))
    assert {(one.title, one.state, one.closes) for one in found.pulls} == {
        ("Mend exp", "open", True),
        ("Mentions it only", "closed", False),
    }
    assert found.awaits_author  # the bot's word does not count
    assert found.last_activity == issue.updated
    assert found.url == server.address(issue)
    assert not found.moved_from
    assert server.seen[0].headers["authorization"] == "token secret"


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("Fixes #7", True),
        ("closes: pytorch/pytorch#7", True),
        ("Resolved #7.", True),
        ("fixes #77", False),
        ("Fixes other/repo#7", False),
        ("prefixes #7", False),
        ("Related to #7", False),
    ],
)
def test_pull_request_ends_an_issue_by_its_keywords(
    issue: Issue, client: TrackerClient, *, body: str, ends: bool
) -> None:
    issue.mention(Pull(9, "Mend", body))
    assert client.fetch(REF).pulls[0].closes is ends


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"state": "open"}, "open"),
        ({"state": "closed"}, "closed"),
        ({"state": "closed", "merged": True}, "merged"),
        ({"state": "closed", "labels": ["Merged"]}, "merged"),
    ],
)
def test_pull_request_that_a_bot_landed_counts_as_merged(
    issue: Issue, client: TrackerClient, fields: dict[str, Any], state: str
) -> None:
    issue.mention(Pull(9, "Mend", "Fixes #7", **fields))
    assert client.fetch(REF).pulls[0].state == state


@pytest.mark.parametrize(
    "text", ["Duplicate of #5", "this is a dup of pytorch/pytorch#5", "dupe of {web}/issues/5."]
)
def test_duplicate_is_followed_to_the_one_that_staff_named(
    issue: Issue, client: TrackerClient, server: TrackerServer, text: str
) -> None:
    original = server.add("github", PLACE, "5", "exp of NaN")
    web = f"{server.url}/web/github/{PLACE}"
    issue.say("passer-by", "Duplicate of #99", association="NONE")
    issue.say("maintainer", text.replace("dupe", "dup").format(web=web))
    issue.close("not_planned")
    found = client.fetch(REF)
    assert (found.state_reason, found.duplicate_of) == ("duplicate", server.address(original))
    issue.reopen()
    assert client.fetch(REF).duplicate_of == ""  # while it is open it is nobody's duplicate


def test_duplicate_without_a_name_is_still_one(issue: Issue, client: TrackerClient) -> None:
    issue.close("duplicate")
    found = client.fetch(REF)
    assert (found.state_reason, found.duplicate_of) == ("duplicate", "")


def test_reopened_issue_says_how_it_had_been_closed(issue: Issue, client: TrackerClient) -> None:
    issue.close("not_planned")
    issue.reopen()
    assert client.fetch(REF).closed_before == "not_planned"
    issue.close(None)
    assert client.fetch(REF).closed_before == ""
    issue.reopen()
    found = client.fetch(REF)
    assert (found.state, found.state_reason, found.closed_before) == (
        "open",
        "reopened",
        "completed",
    )


def test_what_is_known_is_asked_for_by_its_etag(
    issue: Issue, client: TrackerClient, server: TrackerServer
) -> None:
    first = client.fetch(REF)
    again = client.fetch(REF, known=first.parts)
    assert again.is_unchanged
    assert not first.is_unchanged
    assert again.title == TITLE
    assert all("if-none-match" in one.headers for one in server.seen[2:])
    issue.labels = ["triaged"]
    changed = client.fetch(REF, known=again.parts)
    assert (changed.labels, changed.is_unchanged) == (("triaged",), False)


def test_pull_request_that_moved_on_is_seen_though_the_issue_did_not_change(
    issue: Issue, client: TrackerClient
) -> None:
    pull = Pull(9, "Mend", "Fixes #7")
    issue.mention(pull)
    first = client.fetch(REF)
    pull.state, pull.merged = "closed", True
    again = client.fetch(REF, known=first.parts)
    assert (again.pulls[0].state, again.is_unchanged) == ("merged", False)


def test_long_timelines_are_read_page_by_page(issue: Issue, client: TrackerClient) -> None:
    for number in range(150):
        issue.say("maintainer", f"comment {number}")
    issue.close("completed")
    issue.reopen()
    found = client.fetch(REF)
    assert {"timeline/1", "timeline/2"} < set(found.parts)
    assert found.closed_before == "completed"


def test_renamed_repository_is_followed_and_said(
    issue: Issue, client: TrackerClient, server: TrackerServer
) -> None:
    issue.say("maintainer", "Moving this.")
    server.move(issue, place="pytorch/inductor", number="31")
    found = client.fetch(REF)
    assert found.ref == Reference("github", "pytorch", "inductor", "31")
    assert found.url == server.address(issue)
    assert found.moved_from == f"{server.url}/web/github/{PLACE}/issues/7"
    assert found.awaits_author  # its timeline was asked for in its new place


def at(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


LIMIT = {"x-ratelimit-remaining": "0", "x-ratelimit-limit": "60"}
FAULTS: list[tuple[Fault, type[UpstreamError]]] = [
    (Fault("issues/7", 401), RefusedError),
    (Fault("issues/7", 403, '{"message": "Resource not accessible"}'), RefusedError),
    (Fault("issues/7", 404), NotFoundError),
    (Fault("issues/7", 410), GoneError),
    (Fault("issues/7", 422), RefusedError),
    (Fault("issues/7", 500), ServerError),
    (Fault("issues/7", 502, "<html>Bad gateway</html>"), ServerError),
    (Fault("issues/7", 418), UnreadableError),
    (Fault("issues/7", 200, "<html>Please log in</html>"), UnreadableError),
    (Fault("issues/7", 200, "[]"), UnreadableError),
    (Fault("issues/7", 200, "{}"), UnreadableError),
    (Fault("issues/7", 200, ""), UnreadableError),
    (Fault("timeline", 200, '{"not": "a list"}'), UnreadableError),
    (Fault("timeline", 404), NotFoundError),
    (Fault("issues/7", 301, "", {"Location": "https://elsewhere.example/7"}), UnreadableError),
    (Fault("issues/7", 429, headers={"Retry-After": "120"}), RateLimitedError),
    (Fault("issues/7", 403, headers=LIMIT | {"x-ratelimit-reset": "1"}), RateLimitedError),
    (Fault("issues/7", 403, '{"message": "secondary rate limit"}'), RateLimitedError),
]


@pytest.mark.usefixtures("issue")
@pytest.mark.parametrize(("fault", "kind"), FAULTS, ids=lambda one: getattr(one, "status", ""))
def test_every_fault_has_its_name_and_its_words(
    client: TrackerClient, server: TrackerServer, fault: Fault, kind: type[UpstreamError]
) -> None:
    server.faults.append(fault)
    with pytest.raises(kind) as raised:
        client.fetch(REF)
    assert type(raised.value) is kind
    assert str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "120"}, 120),
        # The moment itself is filled in when the test runs.
        ({"Retry-After": "{date}"}, 300),
        ({"x-ratelimit-reset": "{stamp}"}, 600),
        ({"Retry-After": "nonsense"}, 60),
        ({"Retry-After": "1"}, 60),
        ({"Retry-After": "999999999999"}, 86400),
        ({"x-ratelimit-reset": "99999999999999999999"}, 86400),
        ({}, 60),
    ],
)
@pytest.mark.usefixtures("issue")
def test_limit_says_when_to_ask_again_within_a_day(
    client: TrackerClient, server: TrackerServer, headers: dict[str, str], seconds: int
) -> None:
    moment = at(seconds)
    date, stamp = format_datetime(moment, usegmt=True), int(moment.timestamp())
    filled = {name: text.format(date=date, stamp=stamp) for name, text in headers.items()}
    server.faults.append(Fault("issues/7", 429, headers=filled))
    with pytest.raises(RateLimitedError, match="wants to be asked again") as raised:
        client.fetch(REF)
    assert abs((raised.value.retry_at - at(seconds)).total_seconds()) < 90


@pytest.mark.usefixtures("issue")
def test_slow_or_absent_tracker_is_unreachable(
    client: TrackerClient,
    server: TrackerServer,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(github, "_TIMEOUT", 1)
    server.faults.append(Fault("issues/7", 200, seconds=3.0))
    with pytest.raises(UnreachableError, match="no answer in time"):
        client_for("pytorch").fetch(REF)
    settings.TRACKERS = {
        **settings.TRACKERS,
        "github": {"api": "http://127.0.0.1:9", "web": "http://a.example", "token": ""},
    }
    with pytest.raises(UnreachableError, match="not reached"):
        client_at(REF).fetch(REF)


def test_search_finds_words_and_nothing_of_the_search_syntax(
    issue: Issue, client: TrackerClient, server: TrackerServer
) -> None:
    issue.labels = ["triaged"]
    server.add("github", PLACE, "8", "something else")
    found = client.search('wrong "exp" (NaN) repo:evil/place OR -is:open', limit=5)
    asked = server.seen[-1].query["q"]
    assert asked.count("repo:") == 1
    assert asked.endswith("repo:pytorch/pytorch is:issue")
    assert found == []
    found = client.search("wrong exp")
    assert [(one.ref, one.title, one.labels) for one in found] == [(REF, TITLE, ("triaged",))]


def test_issue_is_filed_found_and_commented_on(
    client: TrackerClient, server: TrackerServer
) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert client.filed(TITLE, since=before) is None
    made = client.create(title=TITLE, body="It does.", labels=["topic: fuzzer"])
    assert (made.title, made.state, made.labels) == (TITLE, "open", ("topic: fuzzer",))
    assert reference_in(made.url) == made.ref
    found = client.filed(TITLE, since=before)
    assert found is not None
    assert found.ref == made.ref
    assert client.filed("Another", since=before) is None
    assert client.filed(TITLE, since=before + timedelta(days=1)) is None
    link = client.comment(made.ref, "Still there on nightly.")
    assert link.startswith(made.url)
    assert client.fetch(made.ref).awaits_author is False


def test_nothing_is_written_without_a_token(server: TrackerServer, settings: LazySettings) -> None:
    settings.TRACKERS = tracker_settings(server)
    client = client_for("pytorch")
    assert not client.can_write
    for write in (
        lambda: client.create(title="a", body="b"),
        lambda: client.comment(REF, "a"),
        lambda: client.filed("a", since=at(0)),
    ):
        with pytest.raises(RefusedError, match="FLOWMUT_GITHUB_TOKEN"):
            write()
    assert server.seen == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com/pytorch/pytorch/issues/7", REF),
        ("https://github.com/pytorch/pytorch/issues/7/?a=b#issuecomment-1", REF),
        ("http://www.github.com/pytorch/pytorch/issues/7", REF),
        ("https://github.com/pytorch/pytorch/pull/7", None),
        ("https://github.com/pytorch/pytorch/issues/new", None),
        ("https://github.com.evil.example/pytorch/pytorch/issues/7", None),
        (
            "https://gitee.com/mindspore/mindspore/issues/I5LBGV",
            Reference("gitee", "mindspore", "mindspore", "I5LBGV"),
        ),
        (
            "https://atomgit.com/mindspore/mindspore/issues/7",
            Reference("atomgit", "mindspore", "mindspore", "7"),
        ),
        (
            "https://gitcode.com/mindspore/mindspore/issues/7",
            Reference("atomgit", "mindspore", "mindspore", "7"),
        ),
        ("ftp://github.com/pytorch/pytorch/issues/7", None),
        ("https://a.example/7", None),
        ("nonsense", None),
    ],
)
def test_addresses_name_an_issue_or_nothing(url: str, expected: Reference | None) -> None:
    assert reference_in(url) == expected


def test_hostile_answers_are_data(issue: Issue, client: TrackerClient) -> None:
    issue.say("maintainer", "Duplicate of javascript:alert(1) and of " + "#" * 10_000)
    issue.title = "<script>alert(1)</script>"
    issue.close("completed")
    found = client.fetch(REF)
    assert found.duplicate_of == ""
    assert found.title == "<script>alert(1)</script>"
    assert json.dumps({name: part.body for name, part in found.parts.items()})
