"""GitHub, through PyGithub's connection, log-in and paging of addresses.

Issues are read as raw JSON, because every raw answer is kept and asked for again by its ETag.
PyGithub's own retries and waits are off: when to ask again is ours to say, and people see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import requests
from django.utils import timezone
from github import Auth, Github

from triage.upstream.errors import RefusedError, UnreachableError, UnreadableError
from triage.upstream.issue import Part, Pull, Reference, UpstreamIssue
from triage.upstream.reading import Given, given, given_list
from triage.upstream.reply import NOT_MODIFIED, Reply, data_of
from triage.upstream.words import closes, duplicate_in

__all__ = ["GitHubClient"]

_TIMEOUT = 15  # seconds to connect, and for each piece of the answer
_PER_PAGE = 100
_MOST_PAGES = 10
_API_VERSION = "2022-11-28"
_STATES = ("open", "closed")
_STAFF = {"OWNER", "MEMBER", "COLLABORATOR"}
_SEARCH_LENGTH = 200
# PyTorch lands pull requests by a bot, which closes them without merging and leaves this label.
_LANDED = "merged"


class GitHubClient:
    """One repository of GitHub. `web`: what addresses for people begin with."""

    def __init__(self, *, site: str, api: str, web: str, token: str, owner: str, repo: str) -> None:
        self.can_write = bool(token)
        self._site, self._web, self._api = site, web, api
        self._owner, self._repo = owner, repo
        self._hub = Github(
            auth=Auth.Token(token) if token else None,
            base_url=api,
            timeout=_TIMEOUT,
            retry=0,
            seconds_between_requests=None,
            seconds_between_writes=None,
            user_agent="flowmut-triage",
            api_version=_API_VERSION,
        )

    # ------------------------------------------------------------------------------- the interface
    def fetch(self, ref: Reference, *, known: Mapping[str, Part] | None = None) -> UpstreamIssue:
        parts: dict[str, Part] = {}
        known = known or {}
        path = f"/repos/{ref.owner}/{ref.repo}/issues/{ref.number}"
        changed = self._part(path, "issue", known, parts)
        issue = given(parts["issue"].body, "the issue")
        place = _place(issue.text("repository_url"), issue.text("number"), self._site)
        for page in range(1, _MOST_PAGES + 1):
            name = f"timeline/{page}"
            path = f"/repos/{place.owner}/{place.repo}/issues/{place.number}/timeline"
            changed |= self._part(f"{path}?per_page={_PER_PAGE}&page={page}", name, known, parts)
            if len(given_list(parts[name].body, "the timeline")) < _PER_PAGE:
                break
        return self._issue(ref, parts, is_unchanged=not changed)

    def search(self, text: str, *, limit: int = 10) -> Sequence[UpstreamIssue]:
        query = f"{_plain(text)} repo:{self._owner}/{self._repo} is:issue"
        asked = {"q": query, "per_page": str(min(limit, _PER_PAGE))}
        answer = given(self._ask("GET", "/search/issues", asked), "the search")
        return [self._found(one) for one in answer.objects("items")][:limit]

    def create(self, *, title: str, body: str, labels: Sequence[str] = ()) -> UpstreamIssue:
        sent: dict[str, Any] = {"title": title, "body": body}
        if labels:
            sent["labels"] = list(labels)
        made = self._write(f"/repos/{self._owner}/{self._repo}/issues", sent)
        return self._found(given(made, "the new issue"))

    def filed(self, title: str, *, since: datetime) -> UpstreamIssue | None:
        self._need_token()
        login = given(self._ask("GET", "/user"), "our account").text("login")
        asked = {
            "creator": login,
            "state": "all",
            "sort": "created",
            "direction": "desc",
            "since": f"{since:%Y-%m-%dT%H:%M:%SZ}",
            "per_page": str(_PER_PAGE),
        }
        answer = self._ask("GET", f"/repos/{self._owner}/{self._repo}/issues", asked)
        own = [self._found(one) for one in given_list(answer, "our issues")]
        return next(
            (
                one
                for one in own
                if one.title == title and one.created_at and one.created_at >= since
            ),
            None,
        )

    def comment(self, ref: Reference, text: str) -> str:
        path = f"/repos/{ref.owner}/{ref.repo}/issues/{ref.number}/comments"
        return given(self._write(path, {"body": text}), "the comment").text("html_url")

    # ------------------------------------------------------------------------------------ requests
    def _part(
        self, path: str, name: str, known: Mapping[str, Part], parts: dict[str, Part]
    ) -> bool:
        """Ask for a part, by its ETag where we know it; whether it changed."""
        before = known.get(name)
        headers = {"If-None-Match": before.etag} if before is not None and before.etag else {}
        reply = self._request("GET", path, headers=headers)
        body = data_of(reply, what=self._what("GET", path), now=timezone.now())
        if reply.status == NOT_MODIFIED and before is not None:
            parts[name] = before
            return False
        parts[name] = Part(body, reply.etag)
        return True

    def _ask(self, verb: str, path: str, query: Mapping[str, str] | None = None) -> Any:
        reply = self._request(verb, path, query=query)
        return data_of(reply, what=self._what(verb, path), now=timezone.now())

    def _write(self, path: str, sent: Mapping[str, Any]) -> Any:
        self._need_token()
        reply = self._request("POST", path, sent=sent)
        return data_of(reply, what=self._what("POST", path), now=timezone.now())

    def _request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        sent: Mapping[str, Any] | None = None,
    ) -> Reply:
        accepted = {"Accept": "application/vnd.github+json", **(headers or {})}
        try:
            status, answered, text = self._hub.requester.requestJson(
                verb, path, parameters=dict(query or {}), headers=accepted, input=sent
            )
        except requests.RequestException as error:
            kind = "no answer in time" if isinstance(error, requests.Timeout) else "not reached"
            raise UnreachableError(f"{self._what(verb, path)}: {kind}") from error
        except RuntimeError as error:  # PyGithub follows a redirection only on the same host
            raise UnreadableError(f"{self._what(verb, path)}: {error}") from error
        return Reply(status, answered, text)

    def _what(self, verb: str, path: str) -> str:
        return f"{verb} {self._api}{path.partition('?')[0]}"

    def _need_token(self) -> None:
        if not self.can_write:
            raise RefusedError("No token is set for GitHub (FLOWMUT_GITHUB_TOKEN).")

    # ------------------------------------------------------------------------------------- reading
    def _issue(
        self, asked: Reference, parts: Mapping[str, Part], *, is_unchanged: bool
    ) -> UpstreamIssue:
        issue = given(parts["issue"].body, "the issue")
        ref = _place(issue.text("repository_url"), issue.text("number"), self._site)
        events = [
            event
            for name, part in parts.items()
            if name.startswith("timeline/")
            for event in given_list(part.body, "the timeline")
        ]
        state, author = self._state(issue), issue.inner("user").text("login", "")
        closings = [one.text("state_reason", "") for one in events if _is(one, "closed")]
        comments = [one for one in events if _is(one, "commented") and not _is_bot(one)]
        original = self._original(issue, comments, ref) if state == "closed" else ""
        has_moved = ref.name.lower() != asked.name.lower()
        return UpstreamIssue(
            ref=ref,
            url=issue.text("html_url"),
            title=issue.text("title"),
            body=issue.text("body", ""),
            state=state,
            state_reason="duplicate" if original else issue.text("state_reason", ""),
            closed_before=closings[-1] or "completed" if closings and state == "open" else "",
            author=author,
            labels=issue.names("labels"),
            assignees=tuple(one.text("login") for one in issue.objects("assignees")),
            pulls=tuple(self._pulls(events, ref)),
            awaits_author=bool(comments) and _who(comments[-1]) != author,
            created_at=issue.moment("created_at"),
            last_activity=_latest([issue, *events]),
            duplicate_of=original,
            moved_from=f"{self._web}/{asked.owner}/{asked.repo}/issues/{asked.number}"
            if has_moved
            else "",
            parts=parts,
            is_unchanged=is_unchanged,
        )

    def _found(self, issue: Given) -> UpstreamIssue:
        """An issue as lists hold it: without a timeline."""
        return UpstreamIssue(
            ref=_place(issue.text("repository_url"), issue.text("number"), self._site),
            url=issue.text("html_url"),
            title=issue.text("title"),
            body=issue.text("body", ""),
            state=self._state(issue),
            state_reason=issue.text("state_reason", ""),
            author=issue.inner("user").text("login", ""),
            labels=issue.names("labels"),
            assignees=tuple(one.text("login") for one in issue.objects("assignees")),
            created_at=issue.moment("created_at"),
            last_activity=issue.moment("updated_at"),
        )

    def _state(self, issue: Given) -> str:
        state = issue.text("state")
        if state not in _STATES:
            raise UnreadableError(f"the issue.state: saw {state!r}, expected open or closed")
        return state

    def _original(self, issue: Given, comments: Sequence[Given], ref: Reference) -> str:
        """Whose duplicate it is: the last one that staff, or whoever closed it, named."""
        closer = issue.inner("closed_by").text("login", "")
        for one in reversed(comments):
            if one.text("author_association", "") in _STAFF or _who(one) == closer:
                found = duplicate_in(one.text("body", ""), ref, web=self._web)
                if found:
                    return found
        return ""

    def _pulls(self, events: Sequence[Given], ref: Reference) -> Iterator[Pull]:
        """Pull requests that mention the issue, each once, as they are now."""
        seen: set[str] = set()
        for event in reversed(events):
            source = (
                event.inner("source").inner("issue") if _is(event, "cross-referenced") else None
            )
            if source is None or not source.has("pull_request"):
                continue
            url = source.text("html_url")
            if url in seen:
                continue
            seen.add(url)
            text = f"{source.text('title')}\n{source.text('body', '')}"
            ends = closes(text, ref, web=self._web)
            yield Pull(url, source.text("title"), _pull_state(source), ends)


def _place(repository_url: str, number: str, site: str) -> Reference:
    owner, _, repo = repository_url.rpartition("/repos/")[2].partition("/")
    if not owner or not repo:
        raise UnreadableError(
            f"the issue.repository_url: saw {repository_url!r}, expected .../repos/OWNER/REPO"
        )
    return Reference(site, owner, repo, number)


def _plain(text: str) -> str:
    """Words without GitHub's search syntax, which a title may hold by chance."""
    words = re.sub(r"[^\w.\s-]+", " ", text)
    words = re.sub(r"\b(?:AND|OR|NOT)\b|(?<!\S)-+", " ", words)
    return " ".join(words.split())[:_SEARCH_LENGTH]


def _is(event: Given, name: str) -> bool:
    return event.text("event", "") == name


def _who(event: Given) -> str:
    return event.inner("user").text("login", "")


def _is_bot(event: Given) -> bool:
    return event.inner("user").text("type", "") == "Bot" or _who(event).endswith("[bot]")


def _pull_state(source: Given) -> str:
    labels = {name.lower() for name in source.names("labels")}
    if source.inner("pull_request").has("merged_at") or _LANDED in labels:
        return "merged"
    return source.text("state")


def _latest(rows: Sequence[Given]) -> datetime | None:
    times = [one.moment(name) for one in rows for name in ("created_at", "updated_at")]
    return max((one for one in times if one is not None), default=None)
