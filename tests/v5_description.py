"""Requests and answers held against what Gitee and AtomGit document of their APIs, version 5.

This is the part that we use, written down by hand from what is known of both; nobody has compared
it with the services themselves. Try one request before a token is trusted: the header
`Authorization: Bearer`, the path of linked pull requests and JSON for creating are the places to
look at first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from tests.tracker_server import Seen

__all__ = ["assert_answer_fits", "assert_request_fits"]

_TEXT = {"type": "string", "minLength": 1}
_USER = {"type": "object", "required": ["login"], "properties": {"login": _TEXT}}
_LABEL = {"type": "object", "required": ["name"], "properties": {"name": _TEXT}}
_MOMENT = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$"}
_DETAIL = {
    "type": "object",
    "required": ["id", "title", "serial"],
    "properties": {"title": _TEXT, "id": {"type": "integer"}, "serial": {"type": "integer"}},
}


def _issue(*, states: list[str], labels: Any, number: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [
            "id",
            "number",
            "html_url",
            "state",
            "title",
            "user",
            "created_at",
            "updated_at",
        ],
        "properties": {
            "number": {"type": "string", "pattern": number},
            "html_url": _TEXT,
            "state": {"enum": states},
            "issue_state": _TEXT,
            "issue_state_detail": _DETAIL,
            "title": {"type": "string", "minLength": 1, "maxLength": 255},
            "body": {"type": ["string", "null"]},
            "user": _USER,
            "assignee": {"anyOf": [_USER, {"type": "null"}]},
            "labels": labels,
            "created_at": _MOMENT,
            "updated_at": _MOMENT,
        },
    }


_ISSUES = {
    "gitee": _issue(
        states=["open", "progressing", "closed", "rejected"],
        labels={"type": "array", "items": _LABEL},
        number="^[A-Z0-9]+$",
    ),
    "atomgit": _issue(states=["open", "closed"], labels={"type": "string"}, number=r"^\d+$"),
}
_COMMENT = {
    "type": "object",
    "required": ["id", "body", "user", "created_at", "updated_at"],
    "properties": {"body": {"type": "string"}, "user": _USER, "created_at": _MOMENT},
}
_PULL = {
    "type": "object",
    "required": ["number", "title", "state", "html_url"],
    "properties": {
        "state": {"enum": ["open", "merged", "closed"]},
        "merged_at": {"anyOf": [_MOMENT, {"type": "null"}]},
    },
}


@dataclass(frozen=True)
class _Operation:
    """`query`: its parameters with the pattern of each; `body`: names, the required ones first."""

    verb: str
    path: str
    answer: str
    query: tuple[tuple[str, str], ...] = ()
    required: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    is_list: bool = False


_PAGES = (("page", r"[1-9]\d*"), ("per_page", r"[1-9]\d?|100"))
_OPERATIONS = (
    _Operation("GET", r"/repos/[\w.-]+/[\w.-]+/issues/\w+", "issue"),
    _Operation(
        "GET", r"/repos/[\w.-]+/[\w.-]+/issues/\w+/comments", "comment", _PAGES, is_list=True
    ),
    _Operation(
        "POST", r"/repos/[\w.-]+/[\w.-]+/issues/\w+/comments", "comment", required=("body",)
    ),
    _Operation(
        "GET",
        r"/repos/[\w.-]+/issues/\w+/pull_requests",
        "pull",
        (("repo", r"[\w.-]+"),),
        is_list=True,
    ),
    _Operation(
        "GET",
        r"/repos/[\w.-]+/[\w.-]+/issues",
        "issue",
        (
            *_PAGES,
            ("state", "open|progressing|closed|rejected|all"),
            ("sort", "created|updated"),
            ("direction", "asc|desc"),
            ("since", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*"),
            ("creator", r"[\w-]+"),
        ),
        is_list=True,
    ),
    _Operation(
        "POST",
        r"/repos/[\w.-]+/issues",
        "issue",
        required=("repo", "title"),
        body=("body", "labels"),
    ),
    _Operation(
        "GET",
        "/search/issues",
        "issue",
        (*_PAGES, ("q", ".+"), ("repo", r"[\w.-]+/[\w.-]+")),
        is_list=True,
    ),
    _Operation("GET", "/user", "user"),
)


def _operation(verb: str, path: str) -> _Operation:
    for one in _OPERATIONS:
        if one.verb == verb and re.fullmatch(one.path, path):
            return one
    raise AssertionError(f"{verb} {path} is not described")


def assert_request_fits(seen: Seen) -> None:
    """Nothing is asked or sent that is not described; the token is in no address."""
    operation = _operation(seen.verb, seen.path)
    known = dict(operation.query)
    for name, value in seen.query.items():
        assert name in known, f"{seen.path}: {name} is not described"
        assert re.fullmatch(known[name], value), f"{seen.path}: {name}={value}"
    sent = set(seen.body or {})
    assert set(operation.required) <= sent <= {*operation.required, *operation.body}, sent
    if seen.verb == "POST":
        kind = "application/x-www-form-urlencoded" if seen.site == "gitee" else "application/json"
        assert seen.headers["content-type"] == kind
        assert all(isinstance(value, str) for value in seen.body.values())


def assert_answer_fits(site: str, verb: str, path: str, body: Any) -> None:
    """What the local tracker answers has the documented shape."""
    operation = _operation(verb, path)
    shape = {"issue": _ISSUES[site], "comment": _COMMENT, "pull": _PULL, "user": _USER}[
        operation.answer
    ]
    schema = {"type": "array", "items": shape} if operation.is_list else shape
    Draft202012Validator(schema).validate(body)
