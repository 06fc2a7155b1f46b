"""Thin HTTP for trackers without a library of their own: one host, limited in size."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from triage.upstream.errors import UnreachableError, UnreadableError
from triage.upstream.reply import MOST_BYTES, Reply

__all__ = ["Transport"]

_TIMEOUT = httpx.Timeout(15.0)
_MOST_REDIRECTIONS = 5
_REDIRECTIONS = (301, 302, 307, 308)

# It would write every address at INFO; what was asked is kept with the report, once.
logging.getLogger("httpx").setLevel(logging.WARNING)


class Transport:
    """Requests to one API. The token goes in a header, never in an address."""

    def __init__(self, *, api: str, token: str) -> None:
        self._api = api.rstrip("/")
        self._headers = {"User-Agent": "flowmut-triage", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def what(self, verb: str, path: str) -> str:
        """The request, for people."""
        return f"{verb} {self._api}{path}"

    def request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        etag: str = "",
        form: Mapping[str, str] | None = None,
        sent: Mapping[str, Any] | None = None,
    ) -> Reply:
        """One answer. A GET is led on within the host; a write never is."""
        what = self.what(verb, path)
        headers = {**self._headers, **({"If-None-Match": etag} if etag else {})}
        address = httpx.URL(f"{self._api}{path}", params=dict(query or {}))
        try:
            with httpx.Client(timeout=_TIMEOUT, headers=headers) as client:
                for _ in range(_MOST_REDIRECTIONS + 1):
                    with client.stream(verb, address, data=form, json=sent) as answer:
                        text = _text(answer, what)
                    if answer.status_code not in _REDIRECTIONS or verb != "GET":
                        return Reply(answer.status_code, dict(answer.headers), text)
                    address = self._next(answer, what)
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{what}: no answer in time") from error
        except httpx.HTTPError as error:
            raise UnreachableError(f"{what}: not reached") from error
        raise UnreadableError(f"{what}: more than {_MOST_REDIRECTIONS} redirections")

    def _next(self, answer: httpx.Response, what: str) -> httpx.URL:
        address = answer.url.join(answer.headers.get("location", ""))
        own, other = urlsplit(self._api), urlsplit(str(address))
        if (own.scheme, own.netloc) != (other.scheme, other.netloc):
            raise UnreadableError(
                f"{what}: led to {other.scheme}://{other.netloc}, expected {own.netloc}",
                status=answer.status_code,
            )
        return address


def _text(answer: httpx.Response, what: str) -> str:
    found = bytearray()
    for piece in answer.iter_bytes():
        found += piece
        if len(found) > MOST_BYTES:
            raise UnreadableError(
                f"{what}: saw more than {MOST_BYTES // 2**20} MiB", status=answer.status_code
            )
    return found.decode(answer.encoding or "utf-8", errors="replace")
