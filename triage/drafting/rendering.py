"""Rendering of draft templates: Jinja in its sandbox, on plain data, with errors by line.

The module stands alone: `triage.drafting.apart` runs this very file in a process of its own, where
what people wrote in a template can take neither time nor memory from the site. It reads a JSON
object from its input (`texts`, `variables`) and writes one (`fields` or `error`).
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jinja2 import FunctionLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["MOST_CHARACTERS", "TITLE", "TemplateFaultError", "main", "render_form"]

MOST_CHARACTERS = 65_536
"""Of one field: what GitHub takes as the body of an issue."""
TITLE = "title"
_CELL = 160
_PARTIAL = "_"  # a text whose name begins so is no field, and is there to be included


class TemplateFaultError(Exception):
    """A template cannot be rendered. `field`: which; `line`: from 1, 0 where none is known."""

    def __init__(self, field: str, line: int, message: str) -> None:
        super().__init__(f"{field}, line {line}: {message}" if line else f"{field}: {message}")
        self.field = field
        self.line = line
        self.message = message


@dataclass(frozen=True)
class _Fault:
    field: str
    line: int
    message: str


def render_form(texts: Mapping[str, str], variables: Mapping[str, Any]) -> dict[str, str]:
    """Every text of a form but the partial ones; `TemplateFaultError` names field and line."""
    environment = _environment(texts)
    return {
        name: _rendered(environment, name, texts, variables)
        for name in texts
        if not name.startswith(_PARTIAL)
    }


def _environment(texts: Mapping[str, str]) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        # The name is the file's, too: by it a traceback says in which text a fault is.
        loader=FunctionLoader(lambda name: (texts[name], name, None) if name in texts else None),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
        cache_size=0,
    )
    environment.filters |= {"cell": _cell, "number": _number, "quote": _quote, "fenced": _fenced}
    return environment


def _rendered(
    environment: ImmutableSandboxedEnvironment,
    name: str,
    texts: Mapping[str, str],
    variables: Mapping[str, Any],
) -> str:
    pieces: list[str] = []
    length = 0
    try:
        for piece in environment.get_template(name).generate(**variables):
            length += len(piece)
            if length > MOST_CHARACTERS:
                raise TemplateFaultError(
                    name, 0, f"it writes more than {MOST_CHARACTERS:,} characters"
                )
            pieces.append(piece)
    except TemplateSyntaxError as error:
        raise TemplateFaultError(error.name or name, error.lineno, str(error.message)) from error
    except (TemplateError, *_OF_PEOPLE) as error:
        field, line = _place(error, name, texts)
        raise TemplateFaultError(field, line, _words(error)) from error
    text = "".join(pieces)
    return " ".join(text.split()) if name == TITLE else _tidy(text)


# What an expression in a template can raise: its fault, not ours.
_OF_PEOPLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


def _place(error: BaseException, name: str, texts: Mapping[str, str]) -> tuple[str, int]:
    """The last text that the error went through, and the line there."""
    frames = [(one.filename, one.lineno or 0) for one in traceback.extract_tb(error.__traceback__)]
    found = [frame for frame in frames if frame[0] in texts]
    return found[-1] if found else (name, 0)


def _words(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if isinstance(error, TemplateError) else f"{type(error).__name__}: {text}"


# ----------------------------------------------------------------------------------------- filters
def _cell(text: object) -> str:
    """One line that cannot end a table's cell."""
    line = " ".join(str(text).split()).replace("|", "\\|")
    return line if len(line) <= _CELL else f"{line[: _CELL - 1]}…"


def _number(value: float | None) -> str:
    """Three significant digits, nothing for what is not there."""
    return "" if value is None else f"{float(value):.3g}"


def _quote(text: str) -> str:
    """Every line as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _fenced(text: str, language: str = "") -> str:
    """A block of code whose fence is longer than any in the text."""
    longest = max((len(one) for one in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def _tidy(text: str) -> str:
    """At most one empty line in a row outside of code, none at the ends."""
    pieces = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    tidy = [
        piece if index % 2 else re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", piece)
        for index, piece in enumerate(pieces)
    ]
    text = "".join(tidy).strip()
    return f"{text}\n" if text else ""


def main(arguments: Sequence[str] = ()) -> int:
    """What the process apart does: JSON in, JSON out."""
    given = json.load(sys.stdin)
    try:
        answer: dict[str, Any] = {"fields": render_form(given["texts"], given["variables"])}
    except TemplateFaultError as fault:
        answer = {"error": asdict(_Fault(fault.field, fault.line, fault.message))}
    except MemoryError:
        answer = {"error": asdict(_Fault("", 0, "it takes more memory than a template may have"))}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
