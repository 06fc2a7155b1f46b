"""An answer over HTTP, and what it means: data, "not modified", or one of the errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from triage.upstream.errors import (
    GoneError,
    NotFoundError,
    RateLimitedError,
    RefusedError,
    ServerError,
    UnreadableError,
)

__all__ = ["LONGEST_PAUSE", "MOST_BYTES", "NOT_MODIFIED", "Reply", "data_of", "retry_time"]

NOT_MODIFIED = 304
MOST_BYTES = 8 * 2**20
LONGEST_PAUSE = timedelta(days=1)  # whatever a tracker says, it is asked again after a day
_SHORTEST_PAUSE = timedelta(minutes=1)
_SAID_LENGTH = 200
_BODY_LENGTH = 2000


@dataclass(frozen=True)
class Reply:
    """`headers`: names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def etag(self) -> str:
        return self.headers.get("etag", "")


def data_of(reply: Reply, *, what: str, now: datetime) -> Any:
    """The JSON of a good answer, None for "not modified". `what`: whom we asked for what."""
    if reply.status == NOT_MODIFIED:
        return None
    if reply.status < 300:
        return _json(reply, what)
    said = _said(reply.text)
    message = f"{what}: {reply.status}{f', “{said}”' if said else ''}"
    kept = reply.text[:_BODY_LENGTH]
    if _is_limit(reply, said):
        until = retry_time(reply.headers, now=now)
        message = f"{message}. It wants to be asked again at {until:%Y-%m-%d %H:%M} UTC."
        raise RateLimitedError(message, retry_at=until, status=reply.status, body=kept)
    kind = {
        401: RefusedError,
        403: RefusedError,
        404: NotFoundError,
        410: GoneError,
        422: RefusedError,
    }.get(reply.status)
    if kind is None:
        kind = ServerError if reply.status >= 500 else UnreadableError
    raise kind(message, status=reply.status, body=kept)


def retry_time(headers: Mapping[str, str], *, now: datetime) -> datetime:
    """When to ask again: `Retry-After` in seconds or as a date, or GitHub's reset; else a minute.

    Never sooner than a minute from now, never later than a day.
    """
    said = headers.get("retry-after", "").strip()
    reset = headers.get("x-ratelimit-reset", "").strip()
    earliest, latest = now + _SHORTEST_PAUSE, now + LONGEST_PAUSE
    wanted = _after(said, now) if said else None
    if wanted is None and reset.isdecimal():
        wanted = datetime.fromtimestamp(min(int(reset), latest.timestamp()), UTC)
    return min(max(wanted or earliest, earliest), latest)


def _after(said: str, now: datetime) -> datetime | None:
    if said.isdecimal():
        return now + timedelta(seconds=min(int(said), LONGEST_PAUSE.total_seconds()))
    try:
        date = parsedate_to_datetime(said)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _is_limit(reply: Reply, said: str) -> bool:
    """GitHub answers 403 or 429, with a header or in words; the others 429."""
    if reply.status == 429:
        return True
    if reply.status != 403:
        return False
    return (
        "retry-after" in reply.headers
        or reply.headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in said.lower()
    )


def _json(reply: Reply, what: str) -> Any:
    try:
        return json.loads(reply.text)
    except ValueError as error:
        raise UnreadableError(
            f"{what}: saw {reply.text[:60]!r}, expected JSON",
            status=reply.status,
            body=reply.text[:_BODY_LENGTH],
        ) from error


def _said(text: str) -> str:
    """The tracker's own words about an error, cut to a line."""
    try:
        body = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(body, dict):
        return ""
    words = body.get("message") or body.get("error_message") or body.get("error") or ""
    return " ".join(str(words).split())[:_SAID_LENGTH]
