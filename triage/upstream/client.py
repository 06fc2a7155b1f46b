"""The interface of a tracker. One object speaks to one repository; `sites.client_for` makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from triage.upstream.issue import Part, Reference, UpstreamIssue

__all__ = ["TrackerClient"]


class TrackerClient(Protocol):
    """What every tracker can be asked. All raise the errors of `triage.upstream.errors`."""

    @property
    def can_write(self) -> bool:
        """Whether a token is set; without one `create`, `comment` and `filed` are refused."""

    def fetch(self, ref: Reference, *, known: Mapping[str, Part] | None = None) -> UpstreamIssue:
        """The issue as it is now. With `known` parts only what changed since is sent."""

    def search(self, text: str, *, limit: int = 10) -> Sequence[UpstreamIssue]:
        """Issues of the repository, open and closed, that hold the words; best first."""

    def create(self, *, title: str, body: str, labels: Sequence[str] = ()) -> UpstreamIssue:
        """File an issue. Never tried twice: after `UnreachableError` ask `filed`."""

    def filed(self, title: str, *, since: datetime) -> UpstreamIssue | None:
        """The issue of exactly this title that our account opened since then, newest first."""

    def comment(self, ref: Reference, text: str) -> str:
        """Write under an issue; the comment's address."""
