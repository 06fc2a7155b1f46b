"""What failed said: tracebacks without frames of ours, and without our machine's paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.finding import Finding, ModeAnswer
from engine.places import without_places
from triage.drafting.wording import mode_words

__all__ = ["error_text", "printed"]

_BEGINS = "Traceback (most recent call last)"
_CAUSES = "\nThe above exception was the direct cause of the following exception:"
_MOST = 6000
# Frames that say nothing of the bug: the worker that ran the case, and how NumPy asserts.
_NOISE = re.compile(
    r'^  File "[^"]*(?:session\.py|_worker\.py|numpy/testing/[^"]*|/contextlib\.py)", line .*\n'
    r"(?:    .*\n)*",
    re.MULTILINE,
)


def printed(finding: Finding) -> str:
    """What the script printed before it failed."""
    return without_places(finding.script_output).partition(_BEGINS)[0].strip()


def error_text(finding: Finding) -> str:
    """What the script raised, and what accused modes raised that it does not show.

    Of a long text the end, which says what went wrong.
    """
    said = without_places(finding.script_output)
    pieces = [_own(said)] if _BEGINS in said else []
    accused = [one for one in finding.answers if one.mode in finding.accused_modes]
    pieces += _others(accused, said)
    text = "\n\n".join(piece for piece in pieces if piece)
    if len(text) <= _MOST:
        return text
    return f"... (the beginning is left out)\n{text[-_MOST:].partition(chr(10))[2]}"


def _own(said: str) -> str:
    """The first traceback: what comes after the cause is the script's own assertion."""
    _, begins, rest = said.partition(_BEGINS)
    return _without_noise(f"{begins}{rest}".partition(_CAUSES)[0])


def _others(answers: list[ModeAnswer], said: str) -> Iterator[str]:
    for one in answers:
        message = one.summary.removeprefix("raised ").strip()
        if one.detail and one.summary.startswith("raised ") and without_places(message) not in said:
            yield f"{mode_words(one.mode)}:\n{_without_noise(without_places(one.detail))}"


def _without_noise(text: str) -> str:
    return _NOISE.sub("", f"{text}\n").strip()
