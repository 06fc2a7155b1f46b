"""Running a standalone script alone, and whether it showed what it was written to show."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic

__all__ = [
    "NO_DIFFERENCE",
    "PATIENCE",
    "Ending",
    "ScriptRun",
    "confined",
    "dies_of",
    "hangs_for",
    "run_script",
]

NO_DIFFERENCE = "no difference"  # what a script prints last, once the framework is right
PATIENCE = 120  # seconds until a script that is to hang gives up; `run_script` waits for longer
_BEAT = 1.0  # seconds between two calls of `watch`
_HEAD = 2000  # characters of a long output that are kept
_TAIL = 4000
_READ = 200_000
_MOST_WRITTEN = 2**30
# The kernel ends the script with the process that runs it; limits hold for what it starts, too.
# A network of its own has no way out: that takes a user namespace, or the right to do without one.
_LAUNCH = """
import ctypes, os, resource, signal, sys
parent, space, written = map(int, sys.argv[1:4])
note = sys.argv[4]
libc = ctypes.CDLL(None, use_errno=True)
if note:
    user, group = os.getuid(), os.getgid()
    said = "no network"
    if libc.unshare(0x10000000 | 0x40000000) == 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"),
                           ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    elif libc.unshare(0x40000000) != 0:
        said = f"the network is open: {os.strerror(ctypes.get_errno())}"
    with open(note, "w") as file:
        file.write(said)
libc.prctl(1, signal.SIGKILL)
if os.getppid() != parent:
    os._exit(1)
for name, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, written)):
    resource.setrlimit(name, (limit, limit))
if space:
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
os.execvp(sys.argv[5], sys.argv[5:])
"""
# Said by whoever lacks memory or a compiler, also inside the AssertionError of a guarded call: that
# is the machine's trouble, not the framework's.
_LACKS = {
    "MemoryError": "not enough memory",
    "std::bad_alloc": "not enough memory",
    "can't allocate memory": "not enough memory",
    "Cannot allocate memory": "not enough memory",
    "No space left on device": "no space left on the disk",
    "No working C++ compiler found": "torch.compile finds no C++ compiler",
    "InvalidCxxCompiler": "torch.compile finds no C++ compiler",
}
_PLAIN = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ")
_PRIVATE = ("FLOWMUT_", "DJANGO_", "CELERY_", "DATABASE_URL")


class Ending(StrEnum):
    """What a run says about the bug. A script that could not run says nothing."""

    REPRODUCED = "reproduced"
    PASSED = "passed"
    NOT_RUN = "could not run"


@dataclass(frozen=True)
class ScriptRun:
    """How a script ended. `reason`: why it could not run, "" where it did. `seconds`: it took.

    `isolation`: what became of the network where it was to be closed.
    """

    ending: Ending
    returncode: int
    output: str
    reason: str = ""
    seconds: float = 0.0
    isolation: str = ""

    @property
    def reproduced(self) -> bool:
        """Whether it asserted the difference, or died as it said."""
        return self.ending is Ending.REPRODUCED


def run_script(
    text: str,
    *,
    interpreter: str = sys.executable,
    deadline: float = 180.0,
    address_space: int = 0,
    scratch: Path | None = None,
    watch: Callable[[], None] = lambda: None,
    offline: bool = False,
    take: Callable[[Path], None] = lambda folder: None,
) -> ScriptRun:
    """Run a script alone in a fresh process and folder.

    `deadline` in seconds; `address_space` in bytes, 0 for no limit; `scratch`: where its folder is
    made. `watch` is called about every second; what it raises ends the script and goes on.
    `offline`: without a network, where the kernel allows it, and with nothing of our environment
    but where programs are. `take` is called with the folder before that is deleted.
    """
    with tempfile.TemporaryDirectory(
        prefix="flowmut-script-", dir=scratch, ignore_cleanup_errors=True
    ) as top:
        folder = Path(top, "script")
        folder.mkdir()
        path = folder / "reproducer.py"
        path.write_text(text)
        began = monotonic()
        try:
            process = _start(path, Path(top), interpreter, address_space, offline=offline)
        except OSError as error:
            reason = f"{interpreter} cannot be started: {error.strerror}"
            return ScriptRun(Ending.NOT_RUN, -1, "", reason)
        try:
            is_done = _wait(process, deadline, watch)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        seconds = monotonic() - began
        said, told = (_tail(Path(top, name), folder) for name in ("stdout", "stderr"))
        isolation = _note(Path(top, "isolation")) if offline else ""
        take(folder)
    ending, reason = _ending(process.returncode, said, told)
    if not is_done:
        ending, reason = Ending.NOT_RUN, f"not finished after {deadline:.0f} s"
    output = _shortened(said + told)
    return ScriptRun(ending, process.returncode, output, reason, seconds, isolation)


def _shortened(output: str) -> str:
    """Whole lines from the beginning and the end of a long output, and how much lies between."""
    if len(output) <= _HEAD + _TAIL:
        return output
    head, tail = output[:_HEAD], output[-_TAIL:]
    head = head[: head.rfind("\n") + 1] or f"{head}\n"
    tail = tail.partition("\n")[2] or tail
    return f"{head}[... {len(output) - len(head) - len(tail):,} characters left out ...]\n{tail}"


def _note(file: Path) -> str:
    return file.read_text() if file.is_file() else "it did not get so far as to be isolated"


def _start(
    path: Path, top: Path, interpreter: str, space: int, *, offline: bool
) -> subprocess.Popen[bytes]:
    offline_note = str(top / "isolation") if offline else ""
    with (top / "stdout").open("wb") as out, (top / "stderr").open("wb") as err:
        return subprocess.Popen(
            [*_launcher(interpreter, space, offline_note), interpreter, str(path)],
            cwd=path.parent,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=_environment(path.parent, bare=offline),
            start_new_session=True,
        )


def confined(interpreter: str, *, address_space: int, note: Path) -> list[str]:
    """A command that runs the one behind it without a network and within limits, and that ends with
    us. What became of the network is written to `isolation` in the folder `note`."""
    return _launcher(interpreter, address_space, str(note / "isolation"))


def _launcher(interpreter: str, space: int, note: str) -> list[str]:
    """`note`: the file that says what became of the network, "" to leave that open."""
    limits = [str(os.getpid()), str(space), str(_MOST_WRITTEN), note]
    return [interpreter, "-I", "-S", "-c", _LAUNCH, *limits]


def _wait(process: subprocess.Popen[bytes], deadline: float, watch: Callable[[], None]) -> bool:
    """Whether it ended in time."""
    until = monotonic() + deadline
    while (left := until - monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(_BEAT, left))
            return True
        watch()
    return False


def _tail(file: Path, folder: Path) -> str:
    """The end of what was written, with the folder's name left out."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - _READ))
        return stream.read().decode(errors="replace").replace(str(folder), ".")


def _ending(returncode: int, stdout: str, stderr: str) -> tuple[Ending, str]:
    """What a script's end means, and why it could not run where it could not."""
    if returncode < 0:
        name = signal.Signals(-returncode).name
        if dies_of(name) in stdout:
            return Ending.REPRODUCED, ""
        return Ending.NOT_RUN, f"the process died of {name}"
    if returncode == 0:
        if NO_DIFFERENCE in stdout.splitlines():
            return Ending.PASSED, ""
        return Ending.NOT_RUN, f"it ended without printing “{NO_DIFFERENCE}”"
    if returncode == 1 and hangs_for(PATIENCE) in stdout and "Timeout (" in stderr:
        return Ending.REPRODUCED, ""
    lacks = next((why for said, why in _LACKS.items() if said in stderr), "")
    raised = _raised(stderr)
    if raised.partition(":")[0].strip() == "AssertionError" and not lacks:
        return Ending.REPRODUCED, ""
    last = raised or next(iter(stderr.strip().splitlines()[-1:]), "")
    return Ending.NOT_RUN, lacks or last[:300] or f"exit status {returncode}"


def hangs_for(seconds: int) -> str:
    """What a script prints before the call that does not come back; its watchdog ends it."""
    return f"the call does not come back within {seconds} s here"


def dies_of(name: str) -> str:
    """What a script prints before the call that kills it."""
    return f"the process dies of {name} here"


def _raised(stderr: str) -> str:
    """The exception that ended a process: the line after its last frame, without indent."""
    after = stderr.rpartition('  File "')[2].splitlines()[1:]
    return next((line for line in after if line and not line.startswith(" ")), "").strip()


def _environment(folder: Path, *, bare: bool) -> dict[str, str]:
    """Ours without what is the site's alone; temporary files go where the script is.

    `bare`: only what programs and libraries are found by.
    """
    kept = {
        name: one
        for name, one in os.environ.items()
        if (name in _PLAIN if bare else not name.startswith(_PRIVATE))
    }
    kept |= {"HOME": str(folder)} if bare else {}
    return {
        **kept,
        "GLOG_v": "3",
        "OMP_NUM_THREADS": "1",
        "TMPDIR": str(folder),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
