"""Typed readers of a tracker's JSON: what is missing or of another type is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from triage.upstream.errors import UnreadableError

__all__ = ["Given", "given", "given_list"]


class Given:
    """An object of an answer. `what` names it in errors."""

    def __init__(self, data: Mapping[str, Any], what: str) -> None:
        self._data = data
        self._what = what

    def text(self, name: str, default: str | None = None) -> str:
        """A text or a number as text; without a default it must be there."""
        value = self._data.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int):
            if value is None and default is not None:
                return default
            raise self._wrong(name, "a text")
        return str(value)

    def moment(self, name: str) -> datetime | None:
        """A time with its zone, None where it is not given."""
        said = self.text(name, "")
        if not said:
            return None
        try:
            found = datetime.fromisoformat(said)
        except ValueError as error:
            raise self._wrong(name, "a time") from error
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    def inner(self, name: str) -> Given:
        """An object inside; empty where it is null or left out."""
        value = self._data.get(name)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return Given(value, f"{self._what}.{name}")

    def objects(self, name: str) -> Iterator[Given]:
        """The objects of a list; none where it is null or left out."""
        return iter(given_list(self._data.get(name) or [], f"{self._what}.{name}"))

    def has(self, name: str) -> bool:
        return self._data.get(name) is not None

    def names(self, name: str) -> tuple[str, ...]:
        """Labels: texts, objects with a name, or (AtomGit) one text with commas."""
        value = self._data.get(name) or []
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        if not isinstance(value, list):
            raise self._wrong(name, "a list or a text")
        return tuple(
            one if isinstance(one, str) else given(one, f"{self._what}.{name}").text("name")
            for one in value
        )

    def _wrong(self, name: str, expected: str) -> UnreadableError:
        seen = repr(self._data.get(name))[:60] if name in self._data else "nothing"
        return UnreadableError(f"{self._what}.{name}: saw {seen}, expected {expected}")


def given(data: Any, what: str) -> Given:
    """An answer that must be an object."""
    if not isinstance(data, dict):
        raise UnreadableError(f"{what}: saw {repr(data)[:60]}, expected an object")
    return Given(data, what)


def given_list(data: Any, what: str) -> list[Given]:
    """An answer that must be a list of objects."""
    if not isinstance(data, list):
        raise UnreadableError(f"{what}: saw {repr(data)[:60]}, expected a list")
    return [given(one, what) for one in data]
