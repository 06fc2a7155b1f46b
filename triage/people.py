"""Who asks."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest

__all__ = ["person"]


def person(request: HttpRequest) -> User:
    """The person who is logged in; every view of ours has one, by middleware."""
    assert isinstance(request.user, User), "a view was reached without logging in"
    return request.user
