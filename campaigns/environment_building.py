"""Makes an environment from a requirement such as "mindspore==2.9.0", with pip.

Every step can be broken off and done again: the folder says what it is made for, and wheels that
are there, whole, are not fetched a second time. pip is ours; the new interpreter has none.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from campaigns.environments import add_environment, check_name
from campaigns.models import Environment
from engine.errors import BadInput

__all__ = ["Plan", "Source", "Wheel", "build_environment", "plan_environment"]

# What a framework's own metadata leaves too open (numpy) or out (decorator), at our own versions.
_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "torch": ("numpy",),
    "mindspore": ("numpy", "decorator"),
}
_SEEN_SECONDS = 30
_MADE_FOR = "flowmut.json"
# A wheel of a framework takes three times its size when unpacked, and lies beside that.
_UNPACKED = 4


@dataclass(frozen=True)
class Source:
    """Where pip looks: an index and a folder of wheels, "" for what pip itself is set up with."""

    index: str = ""
    wheels: str = ""
    prereleases: bool = False

    @property
    def options(self) -> list[str]:
        return [
            *(("--index-url", self.index) if self.index else ()),
            *(("--find-links", self.wheels) if self.wheels else ()),
            *(("--pre",) if self.prereleases else ()),
        ]


@dataclass(frozen=True)
class Wheel:
    """A file that pip would fetch. `size` in bytes, None where its server does not say."""

    name: str
    version: str
    url: str
    sha256: str
    size: int | None

    @property
    def file(self) -> str:
        return unquote(urlsplit(self.url).path.rpartition("/")[2])

    def is_whole(self, store: Path) -> bool:
        """Whether it lies in a folder as its index describes it."""
        path = store / self.file
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == self.sha256


@dataclass(frozen=True)
class Plan:
    """What an environment will be made of. `store`: the folder of wheels that were fetched."""

    name: str
    spec: str
    framework: str
    folder: Path
    store: Path
    wheels: tuple[Wheel, ...]

    @property
    def interpreter(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def missing(self) -> tuple[Wheel, ...]:
        return tuple(one for one in self.wheels if not one.is_whole(self.store))


def plan_environment(name: str, spec: str, *, home: Path, source: Source) -> Plan:
    """Make the bare interpreter and ask pip what the requirement needs; nothing is installed.

    `home`: the folder of all environments. `BadInput` for a name or requirement that is none, or
    where pip finds no such version.
    """
    check_name(name)
    framework, wanted = _requirements(spec)
    folder = home / re.sub(r"[^A-Za-z0-9._+-]", "-", name)
    _make(folder, spec)
    store = home / "wheels"
    store.mkdir(exist_ok=True)
    found = _resolved(folder / "bin" / "python", wanted, source, spec)
    return Plan(name, spec, framework, folder, store, tuple(_wheel(one, spec) for one in found))


def build_environment(
    plan: Plan, *, source: Source, say: Callable[[str], None] = lambda text: None
) -> Environment:
    """Fetch what is missing, install, ask the new interpreter, register it.

    `say` is told each step. `BadInput` names what pip could not do; the same call goes on there.
    """
    missing = plan.missing
    _check_room(plan, missing)
    for number, wheel in enumerate(missing, start=1):
        say(f"fetching {number} of {len(missing)}: {wheel.file}")
        _fetch(wheel, plan, source)
    say(f"installing {len(plan.wheels)} packages into {plan.folder}")
    files = [str(plan.store / one.file) for one in plan.wheels]
    _pip(plan.interpreter, ["install", "--no-index", "--no-deps", "-q", *files], plan.spec)
    say("asking the new interpreter for its versions")
    return add_environment(
        plan.name,
        interpreter=str(plan.interpreter),
        framework=plan.framework,
        spec=plan.spec,
        folder=str(plan.folder),
    )


def _requirements(spec: str) -> tuple[str, list[str]]:
    """The framework, which comes first, and all that pip is asked for."""
    try:
        given = [Requirement(word) for word in spec.split()]
    except InvalidRequirement as error:
        expected = 'a requirement such as "mindspore==2.9.0"'
        raise BadInput("spec", seen=repr(spec), expected=expected) from error
    names = [canonicalize_name(one.name) for one in given]
    if not names or names[0] not in _COMPANIONS:
        expected = f"a requirement of {' or '.join(_COMPANIONS)} first"
        raise BadInput("spec", seen=repr(spec), expected=expected)
    ours = [f"{name}=={version(name)}" for name in _COMPANIONS[names[0]] if name not in names]
    return names[0], [*(str(one) for one in given), *ours]


def _make(folder: Path, spec: str) -> None:
    """The bare interpreter, unless it is there for the same requirement."""
    note = folder / _MADE_FOR
    if folder.exists():
        seen = json.loads(note.read_text())["spec"] if note.is_file() else "another folder"
        if seen != spec:
            raise BadInput(f"folder {folder}", seen=seen, expected=f"nothing, or {spec} half made")
        return
    with tempfile.TemporaryDirectory(dir=_made(folder.parent)) as place:
        made = Path(place, "made")
        made.mkdir()
        (made / _MADE_FOR).write_text(json.dumps({"spec": spec}))
        made.rename(folder)
    done = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(folder)
        raise BadInput(f"folder {folder}", seen=done.stderr[-500:], expected="a new interpreter")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _resolved(
    interpreter: Path, wanted: Sequence[str], source: Source, spec: str
) -> list[dict[str, Any]]:
    """pip's report of what it would install."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report.json")
        arguments = ["install", "--dry-run", "--ignore-installed", "--report", str(report)]
        arguments += ["-q", "--only-binary", ":all:", *source.options, *wanted]
        _pip(interpreter, arguments, spec)
        found: list[dict[str, Any]] = json.loads(report.read_text())["install"]
    return found


def _wheel(item: Mapping[str, Any], spec: str) -> Wheel:
    url = str(item["download_info"]["url"])
    name, number = str(item["metadata"]["name"]), str(item["metadata"]["version"])
    digest = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", "")
    if not digest:
        seen = f"no sha256 of {name} {number} at {urlsplit(url).hostname}"
        raise BadInput(f"spec {spec}", seen=seen, expected="an index that states it")
    return Wheel(name, number, url, str(digest), _size(url))


def _size(url: str) -> int | None:
    """Bytes of a file, as its server or the disk says."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        return path.stat().st_size if path.is_file() else None
    if parts.scheme not in ("http", "https"):
        return None
    try:
        asked = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(asked, timeout=_SEEN_SECONDS) as answer:
            length = answer.headers.get("Content-Length")
    except (urllib.error.URLError, OSError):
        return None
    return int(length) if length else None


def _check_room(plan: Plan, missing: Sequence[Wheel]) -> None:
    needed = _UNPACKED * sum(one.size or 0 for one in missing)
    free = shutil.disk_usage(plan.store).free
    if free < needed:
        seen = f"{free // 10**6} MB free on its disk"
        raise BadInput(f"folder {plan.folder}", seen=seen, expected=f"{needed // 10**6} MB")


def _fetch(wheel: Wheel, plan: Plan, source: Source) -> None:
    """pip shows its own bar where there is a terminal."""
    wanted = f"{wheel.name}=={wheel.version}"
    arguments = ["download", "--no-deps", "--only-binary", ":all:", "-d", str(plan.store)]
    (plan.store / wheel.file).unlink(missing_ok=True)  # half of one, or another build
    _pip(plan.interpreter, [*arguments, *source.options, wanted], plan.spec, shown=True)
    if not wheel.is_whole(plan.store):
        seen = f"{wheel.file} with another sha256, or none"
        raise BadInput(f"wheel {wanted}", seen=seen, expected=wheel.sha256)


def _pip(interpreter: Path, arguments: Sequence[str], spec: str, *, shown: bool = False) -> None:
    """Our pip at work on another interpreter; its last error is the message."""
    is_terminal = shown and sys.stdout.isatty()
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(interpreter), "--no-input", *arguments],
        stdout=None if is_terminal else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [one for one in done.stderr.splitlines() if one.startswith("ERROR")]
        seen = " ".join(lines[-2:]) or done.stderr.strip()[-500:] or f"status {done.returncode}"
        raise BadInput(f"spec {spec}", seen=f"pip: {seen}", expected="packages that pip can have")
