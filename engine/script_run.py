"""Running a standalone script alone, and whether it showed what it was written to show."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ScriptRun", "dies_of", "run_script"]


@dataclass(frozen=True)
class ScriptRun:
    """How a script ended: `reproduced` when it asserted the difference or died as it said."""

    reproduced: bool
    returncode: int
    output: str


def run_script(
    text: str, *, interpreter: str = sys.executable, deadline: float = 180.0
) -> ScriptRun:
    """Run a script alone in a fresh process and folder."""
    with tempfile.TemporaryDirectory(prefix="flowmut-script-") as folder:
        path = Path(folder, "reproducer.py")
        path.write_text(text)
        try:
            done = subprocess.run(
                [interpreter, str(path)],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=deadline,
                env=_environment(folder),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ScriptRun(False, -9, f"not finished after {deadline:.0f} s")
    output = (done.stdout + done.stderr).replace(folder, ".")
    reproduced = _died_as_said(done.returncode, done.stdout) or (
        done.returncode > 0 and _raised(done.stderr) == "AssertionError"
    )
    return ScriptRun(reproduced, done.returncode, output[-6000:])


def _died_as_said(returncode: int, stdout: str) -> bool:
    """Whether the script died of the signal that it printed it would die of."""
    if returncode >= 0:
        return False
    return dies_of(signal.Signals(-returncode).name) in stdout


def dies_of(name: str) -> str:
    """What a script prints before the call that kills it."""
    return f"the process dies of {name} here"


def _raised(stderr: str) -> str:
    """The type of the exception that ended a process: after its last frame, without indent."""
    after = stderr.rpartition('  File "')[2].splitlines()[1:]
    last = next((line for line in after if line and not line.startswith(" ")), "")
    return last.partition(":")[0].strip()


def _environment(folder: str) -> dict[str, str]:
    return {
        **os.environ,
        "GLOG_v": "3",
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(Path(folder, "inductor")),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
