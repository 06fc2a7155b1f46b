"""Requests and answers held against GitHub's own OpenAPI description (`tests/data/github`)."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator, FormatChecker
from jsonschema.exceptions import best_match

from tests.tracker_server import Seen

__all__ = ["assert_answer_fits", "assert_request_fits"]

_FILE = Path(__file__).parent / "data" / "github" / "openapi.json"


@cache
def _description() -> dict[str, Any]:
    """The description as JSON Schema: OpenAPI 3.0 says `nullable` where the schema says null."""
    described: dict[str, Any] = _with_null(json.loads(_FILE.read_text()))
    return described


def _with_null(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_null(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: _with_null(value) for key, value in node.items() if key != "nullable"}
    if node.get("nullable") is not True:
        return found
    return {"anyOf": [{"type": "null"}, found]}


def _operation(verb: str, path: str) -> tuple[str, dict[str, Any]]:
    for template, verbs in _description()["paths"].items():
        pattern = re.sub(r"\{[^}]+\}", "[^/]+", template)
        if re.fullmatch(pattern, path) and verb.lower() in verbs:
            return template, verbs[verb.lower()]
    raise AssertionError(f"{verb} {path} is not in the description")


def _check(value: Any, schema: dict[str, Any]) -> None:
    whole = {**schema, "components": _description()["components"]}
    wrong = best_match(Draft4Validator(whole, format_checker=FormatChecker()).iter_errors(value))
    # Not raised as it is: it would print the whole description.
    assert wrong is None, f"{'.'.join(map(str, wrong.absolute_path))}: {wrong.message[:300]}"


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = _description()
    for name in node["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return dict(found)


def _typed(text: str, schema: dict[str, Any]) -> Any:
    return int(text) if schema.get("type") == "integer" and text.isdecimal() else text


def assert_request_fits(seen: Seen) -> None:
    """Path, query and body are as described; nothing is sent that is not."""
    template, operation = _operation(seen.verb, seen.path)
    parameters = [_resolved(one) for one in operation.get("parameters", [])]
    by_place: dict[str, dict[str, Any]] = {"path": {}, "query": {}}
    for one in parameters:
        by_place.setdefault(one["in"], {})[one["name"]] = one
    names = re.findall(r"\{([^}]+)\}", template)
    values = re.fullmatch(re.sub(r"\{[^}]+\}", "([^/]+)", template), seen.path)
    assert values is not None
    for name, value in zip(names, values.groups(), strict=True):
        schema = by_place["path"][name]["schema"]
        _check(_typed(value, schema), schema)
    assert set(seen.query) <= set(by_place["query"]), f"{seen.path}: {seen.query}"
    for name, one in by_place["query"].items():
        assert name in seen.query or not one.get("required"), f"{seen.path}: {name} is required"
        if name in seen.query:
            _check(_typed(seen.query[name], one["schema"]), one["schema"])
    body = operation.get("requestBody")
    assert body is not None or seen.body is None, f"{seen.path}: takes no body"
    if body is not None:
        assert seen.headers["content-type"] == "application/json"
        _check(seen.body, body["content"]["application/json"]["schema"])
        known = body["content"]["application/json"]["schema"]["properties"]
        assert set(seen.body) <= set(known)


def assert_answer_fits(verb: str, path: str, status: int, body: Any) -> None:
    """What the local tracker answers has the shape that GitHub's answers have."""
    _, operation = _operation(verb, path)
    answer = _resolved(operation["responses"][str(status)])
    _check(body, answer["content"]["application/json"]["schema"])
