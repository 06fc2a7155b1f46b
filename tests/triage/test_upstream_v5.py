"""The clients of Gitee and AtomGit: requests and answers as documented, and every kind of fault."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from django.conf import LazySettings

from tests.tracker_server import (
    ACCOUNT,
    Fault,
    Issue,
    Pull,
    TrackerServer,
    tracker_settings,
    tracking,
)
from tests.v5_description import assert_answer_fits, assert_request_fits
from triage.upstream import transport
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

PLACE = "mindspore/mindspore"
TITLE = "[ST][MS][exp] exp of NaN is 0"
NUMBERS = {"gitee": "I5LBGV", "atomgit": "7"}


@pytest.fixture(params=["gitee", "atomgit"])
def site(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def server(settings: LazySettings) -> Iterator[TrackerServer]:
    """The tracker; whatever was asked of it is documented."""
    with tracking() as running:
        settings.TRACKERS = tracker_settings(running, token="secret")
        yield running
    for seen in running.seen:
        assert_request_fits(seen)


@pytest.fixture
def issue(server: TrackerServer, site: str) -> Issue:
    return server.add(site, PLACE, NUMBERS[site], TITLE, body="It is.")


@pytest.fixture
def ref(site: str) -> Reference:
    return Reference(site, "mindspore", "mindspore", NUMBERS[site])


@pytest.fixture
def client(server: TrackerServer, ref: Reference) -> TrackerClient:
    return client_at(ref)


def test_local_tracker_answers_in_the_documented_shapes(
    server: TrackerServer, issue: Issue, ref: Reference, site: str
) -> None:
    issue.labels, issue.assignees = ["kind/bug", "mindspore-assistant"], ["eve", "bob"]
    issue.say("eve", "Which version?")
    issue.pulls.append(Pull(9, "Mend exp", merged=True))
    one = f"/repos/{PLACE}/issues/{ref.number}"
    pulls = f"/repos/mindspore/issues/{ref.number}/pull_requests"
    secret = {"Authorization": "Bearer secret"}
    for path in (
        one,
        f"{one}/comments",
        f"{pulls}?repo=mindspore",
        f"/repos/{PLACE}/issues",
        "/user",
    ):
        answer = httpx.get(f"{server.url}/{site}{path}", headers=secret)
        assert answer.status_code == 200
        assert_answer_fits(site, "GET", path.partition("?")[0], answer.json())
    found = httpx.get(f"{server.url}/{site}/search/issues", params={"q": "exp", "repo": PLACE})
    assert_answer_fits(site, "GET", "/search/issues", found.json())
    assert len(found.json()) == 1


def test_issue_is_read_with_all_that_the_life_cycle_needs(
    server: TrackerServer, issue: Issue, client: TrackerClient, ref: Reference, site: str
) -> None:
    issue.labels, issue.assignees = ["kind/bug", "mindspore-assistant"], ["eve", "bob"]
    issue.reason = "WIP"
    issue.pulls = [Pull(8, "First try", state="closed"), Pull(9, "Mend exp", merged=True)]
    issue.say("eve", "Which version?")
    issue.say("i-robot", "A bot's word.")
    found = client.fetch(ref)
    assert (found.ref, found.url) == (ref, server.address(issue))
    assert (found.title, found.body, found.author) == (TITLE, "It is.", ACCOUNT)
    assert (found.state, found.state_reason) == ("open", "WIP")
    assert found.labels == ("kind/bug", "mindspore-assistant")
    assert set(found.assignees) == {"eve", "bob"}
    assert [(one.title, one.state, one.closes) for one in found.pulls] == [
        ("First try", "closed", True),
        ("Mend exp", "merged", True),
    ]
    assert found.awaits_author
    assert found.last_activity == issue.updated
    assert all(one.headers["authorization"] == "Bearer secret" for one in server.seen)


@pytest.mark.parametrize(
    "text", ["Duplicate of #{number}", "重复单 {url}", "dup of mindspore/mindspore#{number}"]
)
def test_duplicate_is_followed_where_the_tracker_says_that_it_is_over(
    server: TrackerServer, issue: Issue, client: TrackerClient, ref: Reference, site: str, text: str
) -> None:
    number = {"gitee": "I4XYZ1", "atomgit": "5"}[site]
    original = server.add(site, PLACE, number, "exp")
    issue.say("eve", text.format(number=number, url=server.address(original)))
    assert client.fetch(ref).duplicate_of == ""
    issue.state = "closed"
    assert client.fetch(ref).duplicate_of == server.address(original)


def test_what_did_not_change_is_not_news(
    server: TrackerServer, issue: Issue, client: TrackerClient, ref: Reference
) -> None:
    first = client.fetch(ref)
    again = client.fetch(ref, known=first.parts)
    assert (first.is_unchanged, again.is_unchanged) == (False, True)
    assert again.title == TITLE
    issue.pulls.append(Pull(9, "Mend exp"))
    changed = client.fetch(ref, known=again.parts)
    assert (changed.is_unchanged, changed.pulls[0].state) == (False, "open")


def test_many_comments_are_read_page_by_page(
    issue: Issue, client: TrackerClient, ref: Reference
) -> None:
    for number in range(120):
        issue.say("eve", f"comment {number}")
    issue.say(ACCOUNT, "Our word is the last.")
    found = client.fetch(ref)
    assert {"comments/1", "comments/2"} < set(found.parts)
    assert not found.awaits_author


def test_moved_issue_is_followed_on_the_same_host(
    server: TrackerServer, issue: Issue, client: TrackerClient, ref: Reference, site: str
) -> None:
    number = {"gitee": "I6AAAA", "atomgit": "31"}[site]
    server.move(issue, place="mindspore/lite", number=number)
    found = client.fetch(ref)
    assert found.ref == Reference(site, "mindspore", "lite", number)
    assert found.moved_from == f"{server.url}/web/{site}/{PLACE}/issues/{ref.number}"
    assert reference_in(found.url) == found.ref


FAULTS: list[tuple[Fault, type[UpstreamError]]] = [
    (Fault("issues/", 401, '{"message": "401 Unauthorized"}'), RefusedError),
    (Fault("issues/", 403, '{"error_message": "no"}'), RefusedError),
    (Fault("issues/", 404), NotFoundError),
    (Fault("issues/", 410), GoneError),
    (Fault("issues/", 422), RefusedError),
    (Fault("issues/", 429, headers={"Retry-After": "120"}), RateLimitedError),
    (Fault("issues/", 500, "oops"), ServerError),
    (Fault("issues/", 504, "<html>"), ServerError),
    (Fault("issues/", 418), UnreadableError),
    (Fault("issues/", 200, "<html>Please log in</html>"), UnreadableError),
    (Fault("issues/", 200, "[]"), UnreadableError),
    (Fault("issues/", 200, '{"number": "7", "title": "t", "state": "ajar"}'), UnreadableError),
    (Fault("comments", 200, "{}"), UnreadableError),
    (Fault("pull_requests", 200, "{}"), UnreadableError),
    (Fault("issues/", 301, "", {"Location": "https://elsewhere.example/7"}), UnreadableError),
    (Fault("issues/", 302, "", {"Location": "//elsewhere.example/7"}), UnreadableError),
    (Fault("issues/", 301, "", {"Location": "?again"}), UnreadableError),
]


@pytest.mark.usefixtures("issue")
@pytest.mark.parametrize(("fault", "kind"), FAULTS, ids=lambda one: getattr(one, "status", ""))
def test_every_fault_has_its_name_and_its_words(
    server: TrackerServer,
    client: TrackerClient,
    ref: Reference,
    fault: Fault,
    kind: type[UpstreamError],
) -> None:
    server.faults.append(fault)
    with pytest.raises(kind) as raised:
        client.fetch(ref)
    assert type(raised.value) is kind
    assert str(raised.value)
    assert "secret" not in str(raised.value)
    server.seen.clear()  # a circle of redirections asks what the tracker said, not what we would


@pytest.mark.usefixtures("issue")
def test_slow_absent_or_endless_tracker(
    server: TrackerServer,
    client: TrackerClient,
    ref: Reference,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_TIMEOUT", httpx.Timeout(0.2))
    server.faults.append(Fault("issues/", 200, seconds=1.0, times=1))
    with pytest.raises(UnreachableError, match="no answer in time"):
        client.fetch(ref)
    monkeypatch.setattr(transport, "MOST_BYTES", 1000)
    server.faults.append(Fault("issues/", 200, "[" + "0," * 1000, times=1))
    monkeypatch.setattr(transport, "_TIMEOUT", httpx.Timeout(5))
    with pytest.raises(UnreadableError, match="more than"):
        client.fetch(ref)
    settings.TRACKERS = {
        site: {"api": "http://127.0.0.1:9", "web": "http://a.example", "token": ""}
        for site in ("github", "gitee", "atomgit")
    }
    with pytest.raises(UnreachableError, match="not reached"):
        client_at(ref).fetch(ref)


def test_issue_is_filed_found_and_commented_on(
    server: TrackerServer, client: TrackerClient, site: str
) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert client.filed(TITLE, since=before) is None
    made = client.create(title=TITLE, body="它是 0。", labels=["kind/bug", "sig/ops"])
    assert (made.title, made.body, made.labels) == (TITLE, "它是 0。", ("kind/bug", "sig/ops"))
    found = client.filed(TITLE, since=before)
    assert found is not None
    assert found.ref == made.ref
    assert client.filed("another", since=before) is None
    assert client.filed(TITLE, since=before + timedelta(days=1)) is None
    assert client.comment(made.ref, "Still there.").startswith(made.url)
    assert client.fetch(made.ref).title == TITLE


def test_search_is_within_the_repository(
    server: TrackerServer, issue: Issue, client: TrackerClient, site: str
) -> None:
    server.add(site, "other/place", "9", TITLE)
    assert [one.ref.repo for one in client.search("exp NaN")] == ["mindspore"]
    assert client.search("nothing like it") == []


def test_write_is_never_led_on(server: TrackerServer, client: TrackerClient) -> None:
    server.faults.append(Fault("issues", 307, "", {"Location": f"{server.url}/atomgit/user"}))
    with pytest.raises(UnreadableError):
        client.create(title="t", body="b")
    assert [one.verb for one in server.seen] == ["POST"]


def test_nothing_is_written_without_a_token(
    server: TrackerServer, settings: LazySettings, ref: Reference, site: str
) -> None:
    settings.TRACKERS = tracker_settings(server)
    client = client_at(ref)
    assert not client.can_write
    writes: list[Any] = [
        lambda: client.create(title="a", body="b"),
        lambda: client.comment(ref, "a"),
        lambda: client.filed("a", since=datetime.now(UTC)),
    ]
    for write in writes:
        with pytest.raises(RefusedError, match=f"FLOWMUT_{site.upper()}_TOKEN"):
            write()
    assert server.seen == []


def test_token_is_in_no_log(
    issue: Issue, client: TrackerClient, ref: Reference, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        client.fetch(ref)
    assert "secret" not in caplog.text
    assert "127.0.0.1" not in caplog.text


def test_reports_of_mindspore_go_to_its_home(server: TrackerServer) -> None:
    made = client_for("mindspore").create(title="t", body="b")
    assert (made.ref.site, made.ref.owner, made.ref.repo) == ("atomgit", "mindspore", "mindspore")
