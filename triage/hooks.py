"""GitHub's webhook: a signed message that something happened to an issue that we follow.

Nothing in a message is believed but which issue it is about: the tracker is then asked, as ever. So
a message that is repeated, late or out of order does no harm.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from triage.following import ask_now
from triage.models import Following, HookDelivery
from triage.upstream.issue import Reference
from triage.upstream.sites import SITES, address_of
from triage.upstream.words import numbers_closed

__all__ = ["BadMessageError", "Taken", "is_signed", "take_message"]

_EVENT_LENGTH = 60
_DELIVERY_LENGTH = 100
_PREFIX = "sha256="


class BadMessageError(Exception):
    """A message that GitHub does not send."""


@dataclass(frozen=True)
class Taken:
    """What a message did: how many reports are asked after; `is_repeated`: it had come before."""

    asked: int
    is_repeated: bool = False


def is_signed(body: bytes, signature: str, *, secret: str) -> bool:
    """Whether the header `X-Hub-Signature-256` fits the body, in constant time."""
    expected = _PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


@transaction.atomic
def take_message(body: bytes, *, event: str, delivery: str) -> Taken:
    """Ask after the reports that a signed message is about.

    It is known by its body: the headers are not signed, and whoever repeats it may change them.
    """
    data = _object(body)
    kept, is_new = HookDelivery.objects.get_or_create(
        digest=hashlib.sha256(body).hexdigest(),
        defaults={"event": event[:_EVENT_LENGTH], "delivery": delivery[:_DELIVERY_LENGTH]},
    )
    if not is_new:
        return Taken(0, is_repeated=True)
    addresses = set(_addresses(kept.event, data))
    rows = Following.objects.filter(site="github", address__in=addresses)
    pull = _text(data.get("pull_request"), "html_url")
    found = {one.pk: one for one in rows}
    if pull:
        followed = Following.objects.filter(site="github").exclude(pulls=[])
        found |= {
            one.pk: one for one in followed if any(known["url"] == pull for known in one.pulls)
        }
    for one in found.values():
        ask_now(one)
    return Taken(len(found))


def _addresses(event: str, data: dict[str, Any]) -> Iterator[str]:
    """The issues that the message names, as we write their addresses."""
    owner, _, repo = _text(data.get("repository"), "full_name").partition("/")
    if not repo:
        return
    numbers: list[str] = []
    if event in {"issues", "issue_comment"}:
        numbers = [_text(data.get("issue"), "number")]
    elif event == "pull_request":
        pull = data.get("pull_request")
        words = f"{_text(pull, 'title')}\n{_text(pull, 'body')}"
        numbers = numbers_closed(
            words, Reference("github", owner, repo, ""), web=SITES["github"].web
        )
    for number in numbers:
        if number.isdecimal():
            yield address_of(Reference("github", owner, repo, number))


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except ValueError as error:
        raise BadMessageError("The body is not JSON.") from error
    if not isinstance(data, dict):
        raise BadMessageError("The body is not an object.")
    return data


def _text(data: Any, name: str) -> str:
    """A text or a number of an object, "" where there is none."""
    value = data.get(name) if isinstance(data, dict) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
