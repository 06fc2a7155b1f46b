"""A tracker on this machine that answers as GitHub, Gitee and AtomGit do, for tests and looking.

Issues are kept in memory and changed by the test, as maintainers would change them. Every request
is kept, so that tests can hold it against the trackers' descriptions; `faults` make it fail.

    python -m tests.tracker_server 8911      # for looking: prints the settings to start with
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

__all__ = [
    "Event",
    "Fault",
    "Issue",
    "Pull",
    "Seen",
    "TrackerServer",
    "tracker_settings",
    "tracking",
]

ACCOUNT = "flowmut-account"
SITES = ("github", "gitee", "atomgit")
_START = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)


@dataclass
class Event:
    """A line of an issue's timeline: a comment (`body`), a closing, a reopening, a mention."""

    kind: str
    who: str
    body: str = ""
    reason: str | None = None
    pull: Pull | None = None
    association: str = "MEMBER"
    at: datetime = _START


@dataclass
class Pull:
    """A pull request. `body` may say that it fixes the issue."""

    number: int
    title: str
    body: str = ""
    state: str = "open"
    merged: bool = False
    labels: list[str] = field(default_factory=list)


@dataclass
class Issue:
    """An issue as the test wants it to be."""

    site: str
    owner: str
    repo: str
    number: str
    title: str
    body: str = ""
    state: str = "open"
    reason: str | None = None
    author: str = ACCOUNT
    labels: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    pulls: list[Pull] = field(default_factory=list)
    created: datetime = _START
    updated: datetime = _START

    @property
    def place(self) -> str:
        return f"{self.owner}/{self.repo}"

    def say(self, who: str, text: str, **fields: Any) -> None:
        """A comment."""
        self._happen(Event("commented", who, text, **fields))

    def close(self, reason: str | None = "completed", *, who: str = "maintainer") -> None:
        self.state, self.reason = "closed", reason
        self._happen(Event("closed", who, reason=reason))

    def reopen(self, *, who: str = "maintainer") -> None:
        self.state, self.reason = "open", "reopened"
        self._happen(Event("reopened", who))

    def mention(self, pull: Pull) -> None:
        """A pull request whose words name the issue."""
        self.pulls.append(pull)
        self._happen(Event("cross-referenced", "maintainer", pull=pull))

    def _happen(self, event: Event) -> None:
        self.updated = event.at = self.updated + timedelta(hours=1)
        self.events.append(event)


@dataclass(frozen=True)
class Seen:
    """A request. `site`: which tracker's API; `body`: decoded JSON or form, None where empty."""

    site: str
    verb: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Fault:
    """Answers in place of the tracker's, for requests whose path the pattern matches.

    `body`: sent as it is. `seconds`: how long it keeps the asker waiting. `times`: how often.
    """

    pattern: str
    status: int
    body: str = '{"message": "no"}'
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    times: int = 10**6


class TrackerServer:
    """The server. `moves`: an issue's path under /repos -> where it is now."""

    def __init__(self, port: int = 0) -> None:
        self.issues: dict[tuple[str, str, str], Issue] = {}
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.moves: dict[str, str] = {}
        self.deleted: set[str] = set()
        self._numbers = iter(range(200_001, 300_000))
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> TrackerServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, site: str, place: str, number: str, title: str, **fields: Any) -> Issue:
        owner, repo = place.split("/")
        issue = Issue(site, owner, repo, number, title, **fields)
        self.issues[site, place.lower(), number] = issue
        return issue

    def address(self, issue: Issue) -> str:
        """Its page."""
        return f"{self.url}/web/{issue.site}/{issue.place}/issues/{issue.number}"

    def move(self, issue: Issue, *, place: str, number: str) -> None:
        """Transfer it; the old path leads on."""
        old = f"/repos/{issue.place}/issues/{issue.number}"
        del self.issues[issue.site, issue.place.lower(), issue.number]
        issue.owner, issue.repo = place.split("/")
        issue.number = number
        self.issues[issue.site, place.lower(), number] = issue
        self.moves[old] = f"/repos/{place}/issues/{number}"

    def new_number(self, site: str) -> str:
        number = next(self._numbers)
        return f"I{number}" if site == "gitee" else str(number)


# -------------------------------------------------------------------------------------- GitHub
def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def github_user(server: TrackerServer, login: str) -> dict[str, Any]:
    own = f"{server.url}/github/users/{login}"
    return {
        "login": login,
        "id": int(sha256(login.encode()).hexdigest()[:6], 16),
        "node_id": "U_1",
        "avatar_url": f"{own}/avatar",
        "gravatar_id": "",
        "url": own,
        "html_url": f"{server.url}/web/github/{login}",
        "followers_url": f"{own}/followers",
        "following_url": f"{own}/following",
        "gists_url": f"{own}/gists",
        "starred_url": f"{own}/starred",
        "subscriptions_url": f"{own}/subscriptions",
        "organizations_url": f"{own}/orgs",
        "repos_url": f"{own}/repos",
        "events_url": f"{own}/events",
        "received_events_url": f"{own}/received_events",
        "type": "Bot" if login.endswith("[bot]") else "User",
        "site_admin": False,
    }


def github_issue(server: TrackerServer, issue: Issue) -> dict[str, Any]:
    repository = f"{server.url}/github/repos/{issue.place}"
    own = f"{repository}/issues/{issue.number}"
    people = [github_user(server, login) for login in issue.assignees]
    closed = [event for event in issue.events if event.kind == "closed"]
    is_closed = issue.state == "closed"
    return {
        "id": int(issue.number),
        "node_id": "I_1",
        "url": own,
        "repository_url": repository,
        "labels_url": f"{own}/labels{{/name}}",
        "comments_url": f"{own}/comments",
        "events_url": f"{own}/events",
        "timeline_url": f"{own}/timeline",
        "html_url": server.address(issue),
        "number": int(issue.number),
        "state": issue.state,
        "state_reason": issue.reason,
        "title": issue.title,
        "body": issue.body or None,
        "user": github_user(server, issue.author),
        "labels": [_github_label(name) for name in issue.labels],
        "assignee": people[0] if people else None,
        "assignees": people,
        "milestone": None,
        "locked": False,
        "active_lock_reason": None,
        "comments": sum(event.kind == "commented" for event in issue.events),
        "closed_at": _time(closed[-1].at) if closed and is_closed else None,
        "closed_by": github_user(server, closed[-1].who) if closed and is_closed else None,
        "created_at": _time(issue.created),
        "updated_at": _time(issue.updated),
        "author_association": "NONE",
        "reactions": _reactions(own),
        "performed_via_github_app": None,
    }


def _reactions(own: str) -> dict[str, Any]:
    kinds = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")
    return {"url": f"{own}/reactions", "total_count": 0, **dict.fromkeys(kinds, 0)}


def _github_label(name: str) -> dict[str, Any]:
    return {
        "id": 1,
        "node_id": "L_1",
        "url": "https://a.example/label",
        "name": name,
        "description": None,
        "color": "ededed",
        "default": False,
    }


def github_event(server: TrackerServer, issue: Issue, event: Event) -> dict[str, Any]:
    own = f"{server.url}/github/repos/{issue.place}/issues/{issue.number}"
    actor = github_user(server, event.who)
    if event.kind == "commented":
        return {
            "event": "commented",
            "actor": actor,
            "user": actor,
            "id": 7,
            "node_id": "IC_1",
            "url": f"{own}/comments/7",
            "html_url": f"{server.address(issue)}#issuecomment-7",
            "issue_url": own,
            "body": event.body,
            "author_association": event.association,
            "created_at": _time(event.at),
            "updated_at": _time(event.at),
            "performed_via_github_app": None,
        }
    if event.pull is not None:
        source = {"type": "issue", "issue": _github_pull(server, issue, event.pull)}
        times = {"created_at": _time(event.at), "updated_at": _time(event.at)}
        return {"event": "cross-referenced", "actor": actor, "source": source, **times}
    return {
        "event": event.kind,
        "actor": actor,
        "id": 9,
        "node_id": "CE_1",
        "url": f"{own}/events/9",
        "commit_id": None,
        "commit_url": None,
        "created_at": _time(event.at),
        "performed_via_github_app": None,
        **({"state_reason": event.reason} if event.kind == "closed" else {}),
    }


def _github_pull(server: TrackerServer, issue: Issue, pull: Pull) -> dict[str, Any]:
    as_issue = Issue(
        "github",
        issue.owner,
        issue.repo,
        str(pull.number),
        pull.title,
        body=pull.body,
        state=pull.state,
        author="maintainer",
        labels=pull.labels,
    )
    page = f"{server.url}/web/github/{issue.place}/pull/{pull.number}"
    links = {
        "url": f"{server.url}/github/repos/{issue.place}/pulls/{pull.number}",
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": _time(issue.updated) if pull.merged else None,
    }
    return github_issue(server, as_issue) | {"html_url": page, "pull_request": links}


# ------------------------------------------------------------------------------- Gitee, AtomGit
def v5_user(login: str) -> dict[str, Any]:
    return {"id": 1, "login": login, "name": login, "html_url": f"https://a.example/{login}"}


def v5_issue(server: TrackerServer, issue: Issue) -> dict[str, Any]:
    """Gitee's and AtomGit's shapes, as their descriptions give them."""
    moment = issue.updated.astimezone().isoformat(timespec="seconds")
    is_gitee = issue.site == "gitee"
    people = [v5_user(login) for login in issue.assignees]
    return {
        "id": 4_200_000,
        "number": issue.number,
        "html_url": server.address(issue),
        "state": issue.state,
        "issue_state": issue.reason or "TODO",
        "issue_state_detail": {"id": 17, "title": issue.reason or "TODO", "serial": 1},
        "issue_type": "Bug-Report",
        "title": issue.title,
        "body": issue.body,
        "user": v5_user(issue.author),
        "assignee": people[0] if people else None,
        "collaborators" if is_gitee else "assignees": people[1:] if is_gitee else people,
        "labels": [{"id": 1, "name": name, "color": "ededed"} for name in issue.labels]
        if is_gitee
        else ",".join(issue.labels),
        "repository": {"id": 3, "full_name": issue.place, "path": issue.repo},
        "milestone": None,
        "comments": sum(event.kind == "commented" for event in issue.events),
        "priority": 0,
        "created_at": issue.created.isoformat(timespec="seconds"),
        "updated_at": moment,
        "finished_at": None,
    }


def v5_comment(event: Event) -> dict[str, Any]:
    moment = event.at.isoformat(timespec="seconds")
    user = v5_user(event.who)
    return {"id": 7, "body": event.body, "user": user, "created_at": moment, "updated_at": moment}


def v5_pull(server: TrackerServer, issue: Issue, pull: Pull) -> dict[str, Any]:
    return {
        "id": 5,
        "number": pull.number,
        "title": pull.title,
        "body": pull.body,
        "state": "merged" if pull.merged else pull.state,
        "html_url": f"{server.url}/web/{issue.site}/{issue.place}/pulls/{pull.number}",
        "merged_at": issue.updated.isoformat(timespec="seconds") if pull.merged else None,
    }


# ---------------------------------------------------------------------------------- the answers
@dataclass(frozen=True)
class _Answer:
    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


_NOT_FOUND = _Answer(404, {"message": "Not Found", "documentation_url": "https://a.example/"})
_REPOSITORY = r"/repos/(?P<place>[^/]+/[^/]+)"
_ONE = rf"{_REPOSITORY}/issues/(?P<number>\w+)"


class _Api:
    """What a site answers."""

    def __init__(self, server: TrackerServer, seen: Seen) -> None:
        self.server, self.seen, self.site = server, seen, seen.site

    def answer(self) -> _Answer:
        for old, new in self.server.moves.items():
            if self.seen.verb == "GET" and re.match(rf"{re.escape(old)}(?=/|$)", self.seen.path):
                there = f"{self.server.url}/{self.site}{new}{self.seen.path[len(old) :]}"
                return _Answer(301, {"message": "Moved Permanently"}, {"Location": there})
        for verb, pattern, method in self._routes():
            found = re.fullmatch(pattern, self.seen.path)
            if found and verb == self.seen.verb:
                return method(**found.groupdict())
        return _NOT_FOUND

    def _routes(self) -> Iterator[tuple[str, str, Callable[..., _Answer]]]:
        yield "GET", _ONE, self.one
        yield "GET", rf"{_ONE}/timeline", self.timeline
        yield "GET", rf"{_ONE}/comments", self.comments
        yield "POST", rf"{_ONE}/comments", self.comment
        yield "GET", r"/repos/(?P<owner>[^/]+)/issues/(?P<number>\w+)/pull_requests", self.pulls
        yield "GET", rf"{_REPOSITORY}/issues", self.listed
        yield "POST", rf"{_REPOSITORY}/issues", self.create
        yield "POST", r"/repos/(?P<owner>[^/]+)/issues", self.create_v5
        yield "GET", r"/search/issues", self.search
        yield "GET", r"/user", self.account

    def one(self, place: str, number: str) -> _Answer:
        if f"{self.site}:{place}#{number}" in self.server.deleted:
            return _Answer(410, {"message": "This issue was deleted"})
        return self._with(place, number, self._shown)

    def timeline(self, place: str, number: str) -> _Answer:
        def rows(issue: Issue) -> Any:
            found = [github_event(self.server, issue, event) for event in issue.events]
            return self._page(found)

        return self._with(place, number, rows)

    def comments(self, place: str, number: str) -> _Answer:
        def rows(issue: Issue) -> Any:
            return self._page([v5_comment(one) for one in issue.events if one.kind == "commented"])

        return self._with(place, number, rows)

    def pulls(self, owner: str, number: str) -> _Answer:
        place = f"{owner}/{self.seen.query['repo']}"
        return self._with(
            place, number, lambda issue: [v5_pull(self.server, issue, one) for one in issue.pulls]
        )

    def comment(self, place: str, number: str) -> _Answer:
        def made(issue: Issue) -> Any:
            issue.say(ACCOUNT, self.seen.body["body"], association="NONE")
            if self.site == "github":
                event = github_event(self.server, issue, issue.events[-1])
                return {key: value for key, value in event.items() if key not in {"event", "actor"}}
            return v5_comment(issue.events[-1])

        return self._written(place, number, made)

    def listed(self, place: str) -> _Answer:
        mine = [
            one
            for (site, where, _), one in self.server.issues.items()
            if (site, where) == (self.site, place.lower())
            and self.seen.query.get("creator", one.author) == one.author
        ]
        newest = sorted(mine, key=lambda one: one.created, reverse=True)
        return _Answer(200, self._page([self._shown(one) for one in newest]))

    def create(self, place: str) -> _Answer:
        body = self.seen.body
        labels = list(body.get("labels", []))
        return self._created(place, body.get("title", ""), body.get("body", ""), labels)

    def create_v5(self, owner: str) -> _Answer:
        body = self.seen.body
        labels = [one for one in body.get("labels", "").split(",") if one]
        return self._created(
            f"{owner}/{body['repo']}", body.get("title", ""), body.get("body", ""), labels
        )

    def search(self) -> _Answer:
        query = self.seen.query
        place = query.get("repo") or re.findall(r"repo:(\S+)", query["q"])[0]
        words = [one.lower() for one in query["q"].split() if ":" not in one]
        found = [
            self._shown(one)
            for (site, where, _), one in self.server.issues.items()
            if (site, where) == (self.site, place.lower())
            and all(word in f"{one.title} {one.body}".lower() for word in words)
        ]
        if self.site != "github":
            return _Answer(200, found)
        items = [one | {"score": 1.0} for one in found]
        rest = {"incomplete_results": False, "search_type": "lexical", "items": items}
        return _Answer(200, {"total_count": len(items), **rest})

    def account(self) -> _Answer:
        if "authorization" not in self.seen.headers:
            return _Answer(401, {"message": "Requires authentication"})
        return _Answer(200, self._user(ACCOUNT))

    def _user(self, login: str) -> dict[str, Any]:
        if self.site != "github":
            return v5_user(login)
        moment = _time(_START)
        return github_user(self.server, login) | {
            "name": login,
            "company": None,
            "blog": "",
            "location": None,
            "email": None,
            "hireable": None,
            "bio": None,
            "public_repos": 0,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "created_at": moment,
            "updated_at": moment,
        }

    def _created(self, place: str, title: str, body: str, labels: list[str]) -> _Answer:
        if "authorization" not in self.seen.headers:
            return _Answer(401, {"message": "Requires authentication"})
        if not title:
            return _Answer(422, {"message": "Validation Failed: title is missing"})
        number = self.server.new_number(self.site)
        now = datetime.now(UTC).replace(microsecond=0)
        issue = self.server.add(self.site, place, number, title, body=body, labels=labels)
        issue.created = issue.updated = now
        return _Answer(201, self._shown(issue))

    def _written(self, place: str, number: str, made: Callable[[Issue], Any]) -> _Answer:
        if "authorization" not in self.seen.headers:
            return _Answer(401, {"message": "Requires authentication"})
        return self._with(place, number, made, status=201)

    def _with(
        self, place: str, number: str, made: Callable[[Issue], Any], *, status: int = 200
    ) -> _Answer:
        issue = self.server.issues.get((self.site, place.lower(), number))
        return _NOT_FOUND if issue is None else _Answer(status, made(issue))

    def _shown(self, issue: Issue) -> dict[str, Any]:
        return (github_issue if self.site == "github" else v5_issue)(self.server, issue)

    def _page(self, rows: list[Any]) -> list[Any]:
        size = int(self.seen.query.get("per_page", 30))
        start = (int(self.seen.query.get("page", 1)) - 1) * size
        return rows[start : start + size]


def _handler(server: TrackerServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve("GET")

        def do_POST(self) -> None:
            self._serve("POST")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's)
            """Quiet."""

        def _serve(self, verb: str) -> None:
            address = urlsplit(self.path)
            _, site, rest = (address.path + "//").split("/", 2)
            rest = f"/{rest.rstrip('/')}"
            length = int(self.headers.get("Content-Length") or 0)
            sent = self.rfile.read(length).decode()
            if site == "web":
                return self._show(rest)
            headers = {name.lower(): value for name, value in self.headers.items()}
            is_form = "form-urlencoded" in headers.get("content-type", "")
            body = dict(parse_qsl(sent)) if is_form else json.loads(sent) if sent else None
            query = dict(parse_qsl(address.query))
            seen = Seen(site, verb, rest, query, headers, body)
            server.seen.append(seen)
            return self._reply(seen)

        def _reply(self, seen: Seen) -> None:
            for fault in server.faults:
                if fault.times > 0 and re.search(fault.pattern, seen.path):
                    fault.times -= 1
                    time.sleep(fault.seconds)
                    return self._write(fault.status, fault.body.encode(), fault.headers)
            answer = _Api(server, seen).answer()
            body = json.dumps(answer.body).encode()
            etag = f'W/"{sha256(body).hexdigest()[:20]}"'
            if answer.status == 200 and seen.headers.get("if-none-match") == etag:
                return self._write(304, b"", {"ETag": etag})
            kept = {"ETag": etag} if answer.status == 200 else {}
            return self._write(answer.status, body, {**kept, **answer.headers})

        def _show(self, path: str) -> None:
            """A page for people: what a browser test opens, and what a person reads."""
            _, site, owner, repo, _, *rest = (path + "/////").split("/")
            number = rest[0] if rest else ""
            issue = server.issues.get((site, f"{owner}/{repo}".lower(), number))
            words = f"{issue.title} ({issue.state})" if issue else f"{owner}/{repo} on {site}"
            page = f"<!doctype html><html lang=en><title>{escape(words)}</title><h1>{escape(words)}"
            self._write(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})

        def _write(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            try:
                self.send_response(status)
                all_headers = {"Content-Type": "application/json", **headers}
                for name, value in all_headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                """The asker did not wait."""

    return Handler


def tracker_settings(server: TrackerServer, *, token: str = "") -> dict[str, dict[str, str]]:
    """`settings.TRACKERS` that leads there."""
    return {
        site: {
            "api": f"{server.url}/{site}",
            "web": f"{server.url}/web/{site}",
            "token": token,
        }
        for site in SITES
    }


@contextmanager
def tracking(port: int = 0) -> Iterator[TrackerServer]:
    """A server that runs meanwhile."""
    server = TrackerServer(port).start()
    try:
        yield server
    finally:
        server.stop()


def main() -> None:
    """Run until it is interrupted, and say with which settings the product finds it."""
    with tracking(int(sys.argv[1])) as server:
        for site, places in tracker_settings(server).items():
            for name in ("api", "web"):
                print(f"export FLOWMUT_{site.upper()}_{name.upper()}={places[name]}")
        server.add("github", "pytorch/pytorch", "123456", "torch.compile gives a wrong exp for NaN")
        threading.Event().wait()


if __name__ == "__main__":
    main()
