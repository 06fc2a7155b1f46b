"""Environments: the interpreters that have a framework, and what is wrong with one that has not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadInput

__all__ = [
    "Environment",
    "default_environments",
    "frameworks_of",
    "probe",
    "process_variables",
    "require_folder",
]

_PROBE_SECONDS = 120
_PROBE = """
import importlib, importlib.util, json, pathlib, platform, re, sys
framework = sys.argv[1]
for name in ("numpy", framework):
    if importlib.util.find_spec(name) is None:
        print(json.dumps({"lacks": name}))
        sys.exit(0)
module = importlib.import_module(framework)
numpy = importlib.import_module("numpy")
found = {"python": platform.python_version(), framework: module.__version__,
         "numpy": numpy.__version__}
commit = str(getattr(getattr(module, "version", None), "git_version", "") or "")
note = pathlib.Path(module.__file__).with_name(".commit_id")
if note.is_file():
    commit = "".join(re.findall(r"sha1.:(\\w+)", note.read_text())[:1])
print()
print(json.dumps({**found, "commit": commit[:12]} if commit else found))
"""


_FINDS = """
import importlib.util, json, sys
print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name)]))
"""


@dataclass(frozen=True)
class Environment:
    """An interpreter with a framework: `framework` is "torch" or "mindspore"."""

    name: str
    framework: str
    interpreter: str = sys.executable


def default_environments() -> dict[str, Environment]:
    """By framework, the interpreter that runs this very process."""
    return {name: Environment(name, name) for name in ("torch", "mindspore")}


def probe(environment: Environment) -> Mapping[str, str]:
    """Versions of Python, the framework and NumPy, and the framework's commit where it says so;
    takes the seconds of an import.

    `BadInput` where the interpreter does not exist, is none, lacks the framework or NumPy, or dies
    while importing it.
    """
    thing = f"environment {environment.name}"
    asked = [environment.framework]
    return _versions(thing, environment, _run(thing, environment.interpreter, _PROBE, asked))


def frameworks_of(name: str, interpreter: str, choices: Sequence[str]) -> list[str]:
    """Which of the frameworks an interpreter has; nothing is imported. `BadInput` as for `probe`.

    `name` is the environment's, for the message.
    """
    thing = f"environment {name}"
    done = _run(thing, interpreter, _FINDS, choices)
    try:
        found: list[str] = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        seen = f"{interpreter} printed {(done.stdout or done.stderr)[:200]!r}"
        raise BadInput(thing, seen=seen, expected="a Python interpreter") from error
    return found


def _run(
    thing: str, interpreter: str, program: str, arguments: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """A small program in an interpreter; `BadInput` where it cannot be started or does not end."""
    path = Path(interpreter)
    if not path.is_file():
        raise BadInput(thing, seen=f"no file {path}", expected="the path of a Python interpreter")
    if not os.access(path, os.X_OK):
        raise BadInput(thing, seen=f"{path}, not executable", expected="a Python interpreter")
    try:
        return subprocess.run(
            [str(path), "-I", "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            env={**os.environ, **process_variables()},
            check=False,
        )
    except subprocess.TimeoutExpired:
        seen = f"{path}: import {' '.join(arguments)} took over {_PROBE_SECONDS} s"
        raise BadInput(thing, seen=seen, expected="an import in seconds") from None
    except OSError as error:
        raise BadInput(thing, seen=f"{path}: {error}", expected="a Python interpreter") from error


def _versions(
    thing: str, environment: Environment, done: subprocess.CompletedProcess[str]
) -> Mapping[str, str]:
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        seen = f"{environment.interpreter}: import died with exit status {done.returncode}: {last}"
        raise BadInput(thing, seen=seen, expected=f"{environment.framework} to import")
    try:
        found: dict[str, str] = json.loads(lines[-1])
    except json.JSONDecodeError as error:
        seen = f"{environment.interpreter} printed {lines[-1]!r}"
        raise BadInput(thing, seen=seen, expected="a Python interpreter") from error
    if "lacks" in found:
        seen = f"{environment.interpreter} has no {found['lacks']}"
        raise BadInput(thing, seen=seen, expected=f"an interpreter with {found['lacks']} installed")
    return found


def process_variables() -> dict[str, str]:
    """Environment variables that must be set before a framework is imported.

    GLOG_v=4 silences MindSpore's log (exceptions carry the same text); one thread everywhere, since
    a pool of threads does not survive a fork and two workers share the machine.
    """
    return {
        "GLOG_v": "4",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def require_folder(path: Path, what: str) -> Path:
    """Make a folder and prove that a file can be written there; `BadInput` names the folder."""
    trial = path / f".trial-{os.getpid()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        trial.write_bytes(b"x" * 4096)
        trial.unlink()
    except OSError as error:
        expected = "a writable folder with room"
        raise BadInput(f"{what} {path}", seen=error.strerror or error, expected=expected) from error
    return path
