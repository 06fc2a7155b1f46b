"""Gitee and AtomGit (also GitCode): two trackers that grew from one API, its version 5.

They differ in the words for states, in how an issue is sent, and in ids: Gitee's are texts such as
I5LBGV, AtomGit's are numbers. `Dialect` says how; both have the rest in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from triage.upstream.errors import RefusedError, UnreadableError
from triage.upstream.issue import Part, Pull, Reference, UpstreamIssue
from triage.upstream.reading import Given, given, given_list
from triage.upstream.reply import NOT_MODIFIED, data_of
from triage.upstream.transport import Transport
from triage.upstream.words import duplicate_in

__all__ = ["ATOMGIT", "GITEE", "Dialect", "V5Client"]

_PER_PAGE = 100
_MOST_PAGES = 10
_SEARCH_LENGTH = 200


@dataclass(frozen=True)
class Dialect:
    """What a tracker has of its own. `sends_form`: a new issue is sent as a form, not as JSON."""

    title: str
    token_setting: str
    states: frozenset[str]
    sends_form: bool


GITEE = Dialect(
    "Gitee",
    "FLOWMUT_GITEE_TOKEN",
    frozenset({"open", "progressing", "closed", "rejected"}),
    sends_form=True,
)
ATOMGIT = Dialect(
    "AtomGit",
    "FLOWMUT_ATOMGIT_TOKEN",
    frozenset({"open", "closed"}),
    sends_form=False,
)


class V5Client:
    """One repository. `web`: what addresses for people begin with."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        site: str,
        api: str,
        web: str,
        token: str,
        owner: str,
        repo: str,
    ) -> None:
        self.can_write = bool(token)
        self._dialect, self._site, self._web = dialect, site, web
        self._owner, self._repo = owner, repo
        self._transport = Transport(api=api, token=token)

    # ------------------------------------------------------------------------------- the interface
    def fetch(self, ref: Reference, *, known: Mapping[str, Part] | None = None) -> UpstreamIssue:
        parts: dict[str, Part] = {}
        known = known or {}
        issue_path = f"/repos/{ref.owner}/{ref.repo}/issues/{ref.number}"
        changed = self._part(issue_path, {}, "issue", known, parts)
        place = self._place(given(parts["issue"].body, "the issue"), ref)
        path = f"/repos/{place.owner}/{place.repo}/issues/{place.number}/comments"
        for page in range(1, _MOST_PAGES + 1):
            name, asked = f"comments/{page}", {"page": str(page), "per_page": str(_PER_PAGE)}
            changed |= self._part(path, asked, name, known, parts)
            if len(given_list(parts[name].body, "the comments")) < _PER_PAGE:
                break
        path = f"/repos/{place.owner}/issues/{place.number}/pull_requests"
        changed |= self._part(path, {"repo": place.repo}, "pulls", known, parts)
        return self._issue(ref, parts, is_unchanged=not changed)

    def search(self, text: str, *, limit: int = 10) -> Sequence[UpstreamIssue]:
        asked = {
            "q": " ".join(text.split())[:_SEARCH_LENGTH],
            "repo": f"{self._owner}/{self._repo}",
            "per_page": str(min(limit, _PER_PAGE)),
        }
        answer = given_list(self._ask("/search/issues", asked), "the search")
        return [self._found(one) for one in answer][:limit]

    def create(self, *, title: str, body: str, labels: Sequence[str] = ()) -> UpstreamIssue:
        sent = {"repo": self._repo, "title": title, "body": body}
        if labels:
            sent["labels"] = ",".join(labels)
        made = self._write(f"/repos/{self._owner}/issues", sent)
        return self._found(given(made, "the new issue"))

    def filed(self, title: str, *, since: datetime) -> UpstreamIssue | None:
        self._need_token()
        login = given(self._ask("/user", {}), "our account").text("login")
        asked = {
            "creator": login,
            "state": "all",
            "sort": "created",
            "direction": "desc",
            "since": since.isoformat(timespec="seconds"),
            "per_page": str(_PER_PAGE),
        }
        answer = self._ask(f"/repos/{self._owner}/{self._repo}/issues", asked)
        for one in map(self._found, given_list(answer, "our issues")):
            is_ours = one.author == login and one.title == title
            if is_ours and one.created_at is not None and one.created_at >= since:
                return one
        return None

    def comment(self, ref: Reference, text: str) -> str:
        path = f"/repos/{ref.owner}/{ref.repo}/issues/{ref.number}/comments"
        made = given(self._write(path, {"body": text}), "the comment")
        return made.text("html_url", "") or self._address(ref)

    # ------------------------------------------------------------------------------------ requests
    def _part(
        self,
        path: str,
        query: Mapping[str, str],
        name: str,
        known: Mapping[str, Part],
        parts: dict[str, Part],
    ) -> bool:
        """Ask for a part, by its ETag where we know it; whether it changed."""
        before = known.get(name)
        etag = before.etag if before is not None else ""
        reply = self._transport.request("GET", path, query=query, etag=etag)
        body = data_of(reply, what=self._transport.what("GET", path), now=timezone.now())
        if reply.status == NOT_MODIFIED and before is not None:
            parts[name] = before
            return False
        parts[name] = Part(body, reply.etag)
        return before is None or before.body != body

    def _ask(self, path: str, query: Mapping[str, str]) -> Any:
        reply = self._transport.request("GET", path, query=query)
        return data_of(reply, what=self._transport.what("GET", path), now=timezone.now())

    def _write(self, path: str, sent: Mapping[str, str]) -> Any:
        self._need_token()
        body: dict[str, Any] = {"form" if self._dialect.sends_form else "sent": sent}
        reply = self._transport.request("POST", path, **body)
        return data_of(reply, what=self._transport.what("POST", path), now=timezone.now())

    def _need_token(self) -> None:
        if not self.can_write:
            title, setting = self._dialect.title, self._dialect.token_setting
            raise RefusedError(f"No token is set for {title} ({setting}).")

    # ------------------------------------------------------------------------------------- reading
    def _issue(
        self, asked: Reference, parts: Mapping[str, Part], *, is_unchanged: bool
    ) -> UpstreamIssue:
        issue = given(parts["issue"].body, "the issue")
        ref = self._place(issue, asked)
        comments = [
            comment
            for name, part in parts.items()
            if name.startswith("comments/")
            for comment in given_list(part.body, "the comments")
        ]
        state, author = self._state(issue), issue.inner("user").text("login", "")
        heard = [one for one in comments if not _is_bot(one)]
        is_over = state in {"closed", "rejected"}
        has_moved = ref.name.lower() != asked.name.lower()
        return UpstreamIssue(
            ref=ref,
            url=issue.text("html_url", "") or self._address(ref),
            title=issue.text("title"),
            body=issue.text("body", ""),
            state=state,
            state_reason=_state_name(issue),
            author=author,
            labels=issue.names("labels"),
            assignees=tuple(_assignees(issue)),
            pulls=tuple(self._pulls(given_list(parts["pulls"].body, "the pull requests"))),
            awaits_author=bool(heard) and heard[-1].inner("user").text("login", "") != author,
            created_at=issue.moment("created_at"),
            last_activity=_latest([issue, *comments]),
            duplicate_of=self._original(heard, author, ref) if is_over else "",
            moved_from=self._address(asked) if has_moved else "",
            parts=parts,
            is_unchanged=is_unchanged,
        )

    def _found(self, issue: Given) -> UpstreamIssue:
        """An issue as lists hold it."""
        ref = self._place(issue, Reference(self._site, self._owner, self._repo, ""))
        return UpstreamIssue(
            ref=ref,
            url=issue.text("html_url", "") or self._address(ref),
            title=issue.text("title"),
            body=issue.text("body", ""),
            state=self._state(issue),
            state_reason=_state_name(issue),
            author=issue.inner("user").text("login", ""),
            labels=issue.names("labels"),
            assignees=tuple(_assignees(issue)),
            created_at=issue.moment("created_at"),
            last_activity=issue.moment("updated_at"),
        )

    def _state(self, issue: Given) -> str:
        state = issue.text("state")
        if state not in self._dialect.states:
            expected = ", ".join(sorted(self._dialect.states))
            raise UnreadableError(f"the issue.state: saw {state!r}, expected one of {expected}")
        return state

    def _original(self, comments: Sequence[Given], author: str, ref: Reference) -> str:
        """Whose duplicate it is: the last one that anybody but the author named."""
        for one in reversed(comments):
            if one.inner("user").text("login", "") == author:
                continue
            found = duplicate_in(one.text("body", ""), ref, web=self._web)
            if found:
                return found
        return ""

    def _pulls(self, rows: Sequence[Given]) -> Iterator[Pull]:
        """Those that the tracker links to the issue: each is meant to end it."""
        for one in rows:
            merged = one.has("merged_at") or one.text("state") == "merged"
            state = "merged" if merged else one.text("state")
            yield Pull(one.text("html_url"), one.text("title"), state, closes=True)

    def _place(self, issue: Given, asked: Reference) -> Reference:
        """Where the issue says that it is; where it does not say, where we asked."""
        full = issue.inner("repository").text("full_name", "")
        owner, _, repo = full.partition("/")
        if not repo:
            owner, repo = asked.owner, asked.repo
        return Reference(self._site, owner, repo, issue.text("number"))

    def _address(self, ref: Reference) -> str:
        return f"{self._web}/{ref.owner}/{ref.repo}/issues/{ref.number}"


def _state_name(issue: Given) -> str:
    """The organisation's name for the state: ids differ between organisations, titles less."""
    return issue.inner("issue_state_detail").text("title", "") or issue.text("issue_state", "")


def _assignees(issue: Given) -> Iterator[str]:
    people = [issue.inner("assignee"), *issue.objects("assignees"), *issue.objects("collaborators")]
    yield from dict.fromkeys(name for one in people if (name := one.text("login", "")))


def _is_bot(comment: Given) -> bool:
    login = comment.inner("user").text("login", "").lower()
    return login.endswith(("-bot", "_bot", "[bot]")) or login == "i-robot"


def _latest(rows: Sequence[Given]) -> datetime | None:
    times = [one.moment(name) for one in rows for name in ("created_at", "updated_at")]
    return max((one for one in times if one is not None), default=None)
