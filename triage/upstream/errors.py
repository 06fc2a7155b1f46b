"""What goes wrong between us and a tracker. Each says it in words for a person.

All are temporary in the sense that nothing of ours is lost: the next poll asks again.
"""

from __future__ import annotations

from datetime import datetime

__all__ = [
    "GoneError",
    "NotFoundError",
    "RateLimitedError",
    "RefusedError",
    "ServerError",
    "UnreachableError",
    "UnreadableError",
    "UpstreamError",
]


class UpstreamError(Exception):
    """Base. `kind`: a stable name that is stored; `status`: HTTP's, 0 where there was no answer."""

    kind = "error"

    def __init__(self, message: str, *, status: int = 0, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class RateLimitedError(UpstreamError):
    """Too many requests. `retry_at`: when the tracker wants to be asked again."""

    kind = "rate_limited"

    def __init__(self, message: str, *, retry_at: datetime, status: int, body: str = "") -> None:
        super().__init__(message, status=status, body=body)
        self.retry_at = retry_at


class GoneError(UpstreamError):
    """The issue was deleted (410)."""

    kind = "gone"


class NotFoundError(UpstreamError):
    """There is no such issue, or it is not for us to see (404)."""

    kind = "not_found"


class RefusedError(UpstreamError):
    """The token is missing, wrong or may not do this (401, 403), or the tracker says no (422)."""

    kind = "refused"


class UnreachableError(UpstreamError):
    """No answer: the network, the name, a time-out."""

    kind = "unreachable"


class ServerError(UpstreamError):
    """The tracker has a fault of its own (5xx)."""

    kind = "server"


class UnreadableError(UpstreamError):
    """An answer that is not what the tracker documents."""

    kind = "unreadable"
