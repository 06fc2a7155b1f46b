"""What the words in a comment or a pull request say: a duplicate of which, an end of which.

Texts of strangers are only ever searched here, never run and never shown as markup.
"""

from __future__ import annotations

import re

from triage.upstream.issue import Reference

__all__ = ["closes", "duplicate_in", "numbers_closed"]

_PLACE = r"(?:(?P<url>https?://[^\s)>\]]+)|(?:(?P<repo>[\w.-]+/[\w.-]+))?#(?P<number>\w+))"
_DUPLICATE = re.compile(
    rf"(?:\bdup(?:licate)?s?\s+(?:of|with)|重复(?:单|问题)?[:\s]*)[:\s]*{_PLACE}", re.IGNORECASE
)
_CLOSES = re.compile(
    rf"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[:\s]+{_PLACE}(?![\w/])", re.IGNORECASE
)


def duplicate_in(text: str, ref: Reference, *, web: str) -> str:
    """Address of the issue that the text calls the original, "" where it names none."""
    found = _DUPLICATE.search(text)
    return _address(found, ref, web) if found else ""


def closes(text: str, ref: Reference, *, web: str) -> bool:
    """Whether a pull request of these words ends the issue, by GitHub's closing keywords."""
    return ref.number.lower() in (one.lower() for one in numbers_closed(text, ref, web=web))


def numbers_closed(text: str, ref: Reference, *, web: str) -> list[str]:
    """Numbers of the issues of the reference's repository that a pull request says it ends."""
    own = f"{web}/{ref.owner}/{ref.repo}/issues/".lower()
    found = [_address(one, ref, web) for one in _CLOSES.finditer(text)]
    return [one[len(own) :] for one in found if one.lower().startswith(own)]


def _address(found: re.Match[str], ref: Reference, web: str) -> str:
    """`#7` is meant in the issue's own repository."""
    if found["url"]:
        return found["url"].rstrip(".,;")
    repo = found["repo"] or f"{ref.owner}/{ref.repo}"
    return f"{web}/{repo}/issues/{found['number']}"
