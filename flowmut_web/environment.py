"""Typed readers of environment variables: errors name it, what was seen, what was expected."""

import os
from collections.abc import Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

__all__ = ["Environment"]

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


class Environment:
    """A view of environment variables. An empty variable counts as unset."""

    def __init__(self, variables: Mapping[str, str] = os.environ) -> None:
        self._variables = variables

    def _wrong(self, name: str, *, expected: str) -> ImproperlyConfigured:
        return ImproperlyConfigured(f"{name}: saw {self._variables[name]!r}, expected {expected}")

    def text(self, name: str, default: str) -> str:
        """The variable as it is."""
        return self._variables.get(name) or default

    def boolean(self, name: str, *, default: bool) -> bool:
        """One of 1, true, yes, on, 0, false, no, off in any case."""
        seen = self._variables.get(name, "").strip().lower()
        if not seen:
            return default
        if seen not in (*_TRUE, *_FALSE):
            raise self._wrong(name, expected="true or false")
        return seen in _TRUE

    def integer(self, name: str, default: int, *, least: int) -> int:
        """A whole number, at least `least`."""
        seen = self._variables.get(name, "").strip()
        if not seen:
            return default
        try:
            value = int(seen)
        except ValueError:
            raise self._wrong(name, expected=f"a whole number of at least {least}") from None
        if value < least:
            raise self._wrong(name, expected=f"a whole number of at least {least}")
        return value

    def choice(self, name: str, default: str, *, choices: tuple[str, ...]) -> str:
        """One of `choices`, exactly."""
        seen = self.text(name, default)
        if seen not in choices:
            raise self._wrong(name, expected=f"one of {', '.join(choices)}")
        return seen

    def items(self, name: str, default: tuple[str, ...]) -> list[str]:
        """Texts separated by commas."""
        seen = self._variables.get(name, "")
        found = [item.strip() for item in seen.split(",") if item.strip()]
        return found or list(default)

    def path(self, name: str, default: Path) -> Path:
        """An absolute path; a leading ~ is the home folder."""
        seen = self._variables.get(name)
        if not seen:
            return default
        path = Path(seen).expanduser()
        if not path.is_absolute():
            raise self._wrong(name, expected="an absolute path")
        return path
