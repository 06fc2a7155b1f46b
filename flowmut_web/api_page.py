"""What the REST API offers, as a page: drawn here from its OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

__all__ = ["Operation", "operations", "show_api"]

_METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Operation:
    """One call. `parameters`, `body`: (name, type, what it is); `answers`: (status, what comes)."""

    method: str
    path: str
    summary: str
    parameters: list[tuple[str, str, str]] = field(default_factory=list)
    body: list[tuple[str, str, str]] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)


@require_safe
def show_api(request: HttpRequest) -> HttpResponse:
    return render(request, "api.html", {"groups": _grouped()})


@cache
def _grouped() -> dict[str, list[Operation]]:
    """Operations by what they are about: the part of the path after /api/."""
    generator: Any = SchemaGenerator  # it has no types
    groups: dict[str, list[Operation]] = {}
    for one in operations(generator().get_schema(request=None, public=True)):
        groups.setdefault(one.path.split("/")[2], []).append(one)
    return dict(sorted(groups.items()))


def operations(schema: Mapping[str, Any]) -> Iterator[Operation]:
    """The calls of an OpenAPI 3 description, in its order."""
    components = schema.get("components", {}).get("schemas", {})
    for path, methods in schema["paths"].items():
        for method in _METHODS:
            if method not in methods:
                continue
            said = methods[method]
            yield Operation(
                method=method.upper(),
                path=path,
                summary=said.get("description") or said.get("summary") or "",
                parameters=[
                    (one["name"], _type(one.get("schema", {})), one.get("description", ""))
                    for one in said.get("parameters", [])
                ],
                body=_fields(_content(said.get("requestBody", {})), components),
                answers=[
                    (status, answer.get("description") or _type(_content(answer)))
                    for status, answer in said.get("responses", {}).items()
                ],
            )


def _content(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a body or an answer, whatever its media type."""
    for one in holder.get("content", {}).values():
        found: Mapping[str, Any] = one.get("schema", {})
        return found
    return {}


def _fields(schema: Mapping[str, Any], components: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    whole = components.get(name, schema)
    required = whole.get("required", [])
    return [
        (
            key,
            _type(one) + (", required" if key in required else ""),
            one.get("description", ""),
        )
        for key, one in whole.get("properties", {}).items()
    ]


def _type(schema: Mapping[str, Any]) -> str:
    """One line: "array of string", a component's name, the values of an enumeration."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for key in ("allOf", "oneOf", "anyOf"):
        if key in schema:
            return " or ".join(_type(one) for one in schema[key])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items', {}))}"
    return str(schema.get("type", ""))
