"""Texts for strangers: what was printed here, without where things lie on this machine."""

from __future__ import annotations

import re

__all__ = ["without_places"]

_PACKAGES = re.compile(r"(?<![\w.:/])(?:/[\w.+@ -]+)+?/(?=(?:site|dist)-packages/)")
_LIBRARY = re.compile(r"(?<![\w.:/])(?:/[\w.+@-]+)+/(?=python3\.\d+/)")
_SCRIPT = re.compile(r'(?<=File ")/(?:[\w.+@ -]+/)+(?=[\w.+@-]+\.py")')
# What is left: home folders, temporary folders, roots of installations.
_FOLDERS = re.compile(
    r"(?<![\w.:/~])/(?:home|root|tmp|var|mnt|work|Users|opt|srv|data)(?:/[\w.+@-]+)*/(?=[\w.+@-])"
)


def without_places(text: str) -> str:
    """Paths of files as a stranger needs them: from the package on, or the file's name alone."""
    text = _LIBRARY.sub(".../", _PACKAGES.sub(".../", text))
    return _FOLDERS.sub(".../", _SCRIPT.sub("", text))
