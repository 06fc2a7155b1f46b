"""What a tracker says of an issue, in one shape for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["Part", "Pull", "PullState", "Reference", "UpstreamIssue"]

PullState = str  # "open", "closed" (without being merged) or "merged"


@dataclass(frozen=True)
class Reference:
    """An issue's place. `site`: a key of `sites.SITES`; `number`: digits, or an id like I5LBGV."""

    site: str
    owner: str
    repo: str
    number: str

    @property
    def name(self) -> str:
        """For people: owner/repo#number."""
        return f"{self.owner}/{self.repo}#{self.number}"


@dataclass(frozen=True)
class Pull:
    """A pull request that an issue is linked to. `closes`: it says that it ends the issue.

    A pull request that only mentions the issue is listed, but says nothing of its state.
    """

    url: str
    title: str
    state: PullState
    closes: bool


@dataclass(frozen=True)
class Part:
    """One raw answer of a tracker, as JSON. `etag`: what a conditional request sends back."""

    body: Any
    etag: str = ""


@dataclass(frozen=True)
class UpstreamIssue:
    """An issue as its tracker says it is now.

    `state`: the tracker's own word (open, closed, progressing, rejected). `state_reason`: GitHub's
    reason (completed, not_planned, duplicate, reopened), or the name that a Gitee or AtomGit
    organisation gave the state (TODO, WIP, ...). `closed_before`: the reason of its last closing,
    where it is open again. `awaits_author`: the last word is not the author's and not a bot's.
    `duplicate_of`: address of the original. `moved_from`: the address that was asked, where the
    tracker led on to another. `parts`: raw answers by name. `is_unchanged`: every conditional
    request was answered "not modified". Search results hold what the list says, without a timeline.
    """

    ref: Reference
    url: str
    title: str
    body: str
    state: str
    state_reason: str = ""
    closed_before: str = ""
    author: str = ""
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    pulls: tuple[Pull, ...] = ()
    awaits_author: bool = False
    created_at: datetime | None = None
    last_activity: datetime | None = None
    duplicate_of: str = ""
    moved_from: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)
    is_unchanged: bool = False

    @property
    def is_open(self) -> bool:
        return self.state in {"open", "progressing"}
