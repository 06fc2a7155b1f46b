"""Which trackers there are, where they are, and the client for a tracker or an issue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from triage.upstream.client import TrackerClient
from triage.upstream.github import GitHubClient
from triage.upstream.issue import Reference
from triage.upstream.v5 import ATOMGIT, GITEE, V5Client

__all__ = [
    "HOMES",
    "SITES",
    "Site",
    "address_of",
    "client_at",
    "client_for",
    "reference_in",
    "site_of",
]


@dataclass(frozen=True)
class Site:
    """A tracker's place. `api`, `web` and `token` are the installation's (`settings.TRACKERS`).

    `aliases`: other hosts under which people see the same issues.
    """

    key: str
    title: str
    number: str
    aliases: tuple[str, ...] = ()

    @property
    def api(self) -> str:
        return self._setting("api")

    @property
    def web(self) -> str:
        return self._setting("web")

    @property
    def token(self) -> str:
        return self._setting("token")

    def _setting(self, name: str) -> str:
        found: str = settings.TRACKERS[self.key][name]
        return found.rstrip("/")


SITES: Mapping[str, Site] = {
    site.key: site
    for site in (
        Site("github", "GitHub", r"\d+"),
        Site("gitee", "Gitee", r"[A-Za-z0-9]+"),
        Site("atomgit", "AtomGit", r"\d+", aliases=("gitcode.com",)),
    )
}
# Where a tracker's new reports go: site, owner, repository.
HOMES: Mapping[str, tuple[str, str, str]] = {
    "pytorch": ("github", "pytorch", "pytorch"),
    "mindspore": ("atomgit", "mindspore", "mindspore"),
}
_PART = r"[A-Za-z0-9_.-]+"


def client_for(tracker: str) -> TrackerClient:
    """The client of the repository where reports of a `triage.models.Tracker` are filed."""
    return _client(*HOMES[tracker])


def client_at(ref: Reference) -> TrackerClient:
    """The client of an issue's repository, whichever tracker it is on."""
    return _client(ref.site, ref.owner, ref.repo)


def reference_in(url: str) -> Reference | None:
    """The issue that an address names; None where it is on no tracker that we know."""
    seen = urlsplit(url.strip())
    for site in SITES.values():
        own = urlsplit(site.web)
        hosts = {own.netloc, f"www.{own.netloc}", *site.aliases}
        if seen.scheme not in {"http", "https"} or seen.netloc.lower() not in hosts:
            continue
        pattern = rf"{re.escape(own.path)}/({_PART})/({_PART})/issues/({site.number})/?"
        found = re.fullmatch(pattern, seen.path)
        if found:
            return Reference(site.key, found[1], found[2], found[3])
    return None


def address_of(ref: Reference) -> str:
    """The issue's page, for people."""
    return f"{SITES[ref.site].web}/{ref.owner}/{ref.repo}/issues/{ref.number}"


def site_of(tracker: str) -> Site:
    """Where a tracker's new reports go."""
    return SITES[HOMES[tracker][0]]


def _client(key: str, owner: str, repo: str) -> TrackerClient:
    site = SITES[key]
    place: dict[str, Any] = {
        "site": key,
        "api": site.api,
        "web": site.web,
        "token": site.token,
        "owner": owner,
        "repo": repo,
    }
    if key == "github":
        return GitHubClient(**place)
    return V5Client(GITEE if key == "gitee" else ATOMGIT, **place)
