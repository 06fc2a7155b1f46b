"""Rendering what people wrote in a process of its own: limited time, memory and output."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triage.drafting import rendering
from triage.drafting.rendering import TemplateFaultError

__all__ = ["SECONDS", "render_apart"]

SECONDS = 5
"""Of wall clock; and of processor time, whichever ends first."""
_MEMORY = 512 * 2**20
_MOST_BYTES = 4 * 2**20


def render_apart(texts: Mapping[str, str], variables: Mapping[str, Any]) -> dict[str, str]:
    """Every text of a form filled in; `TemplateFaultError` where one cannot be, or takes too long.

    Takes about a fifth of a second, which is the start of the interpreter.
    """
    given = json.dumps({"texts": dict(texts), "variables": dict(variables)})
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(Path(rendering.__file__))],
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            preexec_fn=_limit,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TemplateFaultError("", 0, f"it takes more than {SECONDS} seconds") from None
    if done.returncode != 0 or len(done.stdout) > _MOST_BYTES:
        raise TemplateFaultError("", 0, _ended(done.returncode))
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise TemplateFaultError(**answer["error"])
    fields: dict[str, str] = answer["fields"]
    return fields


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _ended(returncode: int) -> str:
    return f"it takes more memory or time than a template may have (exit status {returncode})"
