"""Text as safe HTML: Markdown that people write, source code, and before-after lines."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import nh3
from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers.diff import DiffLexer
from pygments.lexers.python import PythonLexer

__all__ = ["Log", "changed_lines", "index", "log", "markdown", "python", "times"]

_MARKDOWN = MarkdownIt("js-default", {"html": False, "linkify": False})
_TAGS = nh3.ALLOWED_TAGS - {"img", "map", "area"}
_LONG_LINES = 200_000
_LAST_LINES = 30


def markdown(text: str) -> SafeString:
    """Markdown as HTML; only what a note needs survives, and no picture is fetched."""
    html = nh3.clean(_MARKDOWN.render(text), tags=_TAGS, link_rel="noopener noreferrer nofollow")
    # nh3 has cleaned it. Long lines scroll, which a keyboard must be able to do.
    return mark_safe(html.replace("<pre>", '<pre tabindex="0">'))


@dataclass(frozen=True)
class Log:
    """A text of many lines, folded: `first` may be hidden, `last` says what happened in the end."""

    first: str
    last: str
    folded: int
    shown: int
    size: str


def log(text: str) -> Log:
    """The last lines of a text, the ones before them, and how long it is."""
    lines = text.rstrip().splitlines()
    cut = max(0, len(lines) - _LAST_LINES)
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return Log(
        first="\n".join(lines[:cut]),
        last="\n".join(lines[cut:]),
        folded=cut,
        shown=len(lines) - cut,
        size=f"{count}, {filesizeformat(len(text.encode()))}",
    )


def times(ratio: float) -> str:
    """How often something fits: "0.11 times", "180,000 times", "inf times"."""
    if 0 < ratio < 0.01:
        return "under 0.01 times"
    shown = f"{float(f'{ratio:.2g}'):,.0f}" if 1000 <= ratio < math.inf else f"{ratio:.3g}"
    return f"{shown} times"


def index(at: Sequence[int]) -> str:
    """A place in a tensor as people write it."""
    return f"[{', '.join(map(str, at))}]"


def python(source: str) -> SafeString:
    """Python as highlighted HTML; both themes come from the stylesheet."""
    return _highlighted(source, PythonLexer())


def changed_lines(before: str, after: str) -> SafeString:
    """A unified difference of two texts, highlighted."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2
    )
    return _highlighted("\n".join(lines), DiffLexer())


def _highlighted(source: str, lexer: Lexer) -> SafeString:
    formatter: HtmlFormatter[str] = HtmlFormatter(nowrap=False)
    html = highlight(source[:_LONG_LINES], lexer, formatter)
    return mark_safe(html)
