"""What the framework's own documentation says about its functions: signature, platforms, text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["document", "platforms", "supported"]

_MISSING = object()


def document(namespaces: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Name -> what is known, for dotted names that begin with a name of `namespaces`."""
    return {"documents": {name: _one(namespaces, name) for name in names}}


def _one(namespaces: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = _resolve(namespaces, name)
    if found is _MISSING:
        return {"exists": False, "platforms": None, "signature": "", "text": ""}
    text = inspect.getdoc(found) or ""
    said = supported(namespaces, text)
    return {"exists": True, "platforms": said, "signature": _signature(found, text), "text": text}


def _resolve(namespaces: Mapping[str, Any], name: str) -> Any:
    head, *rest = name.split(".")
    value = namespaces.get(head, _MISSING)
    for part in rest:
        if value is _MISSING:
            return _MISSING
        value = getattr(value, part, _MISSING)
    return value


def platforms(text: str) -> list[str] | None:
    """The "Supported Platforms" line of a MindSpore docstring; None where there is no such line."""
    match = re.search(r"^Supported Platforms:\s*\n((?:\s+.*\n?)+)", text, re.MULTILINE)
    if match is None:
        return None
    return re.findall(r"\b(Ascend|GPU|CPU)\b", match.group(1).split("\n\n")[0])


def supported(namespaces: Mapping[str, Any], text: str) -> list[str] | None:
    """The platforms of a docstring, or those of the function that it refers to for details."""
    said = platforms(text)
    referred = re.search(r"refer to :(?:func|class|meth):`(mindspore\.[\w.]+)`", text)
    if said is not None or referred is None:
        return said
    return platforms(inspect.getdoc(_resolve(namespaces, referred.group(1))) or "")


def _signature(found: Any, text: str) -> str:
    try:
        return str(inspect.signature(found))
    except (TypeError, ValueError):
        # Functions written in C say it in the first line of their text.
        return text.split("\n", 1)[0] if "(" in text.split("\n", 1)[0] else ""
