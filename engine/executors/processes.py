"""Zygotes and workers as the pool holds them, and the loop that waits for several at a time.

What waits is a generator that yields a `Wait`; `drive` runs several of them in one thread, so that
a PyTorch and a MindSpore worker compute at the same time and an interrupt closes all of them.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from engine.errors import BadInput
from engine.executors.environment import Environment, process_variables
from engine.executors.worker import protocol
from engine.executors.worker.protocol import Block

__all__ = ["Late", "Steps", "Wait", "Worker", "Zygote", "ZygoteDied", "drive", "signal_name"]

T = TypeVar("T")
_ENTRY = Path(__file__).parent / "worker" / "__main__.py"
_IMPORT_SECONDS = 300
_CONTROL_SECONDS = 60
_TAIL = 6000
_SLICE = 2.0
_MOST_PATIENCE = 6
_TICKS = os.sysconf("SC_CLK_TCK")


class Late(Exception):
    """Nothing was said within the time."""


class ZygoteDied(Exception):
    """The zygote is gone; its workers died with it."""


@dataclass(frozen=True)
class Wait:
    """Resume when the socket can be read (True) or after so many seconds (False)."""

    link: socket.socket
    seconds: float


Steps: TypeAlias = Generator[Wait, bool, T]


def drive(tasks: Sequence[Steps[T]]) -> list[T]:
    """Run the generators side by side; their results in order. An exception closes them all."""
    results: dict[int, T] = {}
    waiting: dict[int, tuple[Wait, float]] = {}

    def step(number: int, ready: bool | None) -> None:  # noqa: FBT001
        try:
            wait = next(tasks[number]) if ready is None else tasks[number].send(ready)
        except StopIteration as done:
            waiting.pop(number, None)
            results[number] = done.value
        else:
            waiting[number] = (wait, time.monotonic() + wait.seconds)

    try:
        for number in range(len(tasks)):
            step(number, None)
        while waiting:
            for number, ready in _ready(waiting):
                step(number, ready)
    finally:
        for task in tasks:
            task.close()
    return [results[number] for number in range(len(tasks))]


def _ready(waiting: Mapping[int, tuple[Wait, float]]) -> list[tuple[int, bool]]:
    """Which waits are over: by something to read, or by the time."""
    with selectors.DefaultSelector() as selector:
        for number, (wait, _) in waiting.items():
            selector.register(wait.link, selectors.EVENT_READ, number)
        first = min(until for _, until in waiting.values())
        readable = {key.data for key, _ in selector.select(max(0.0, first - time.monotonic()))}
    now = time.monotonic()
    return [
        (number, number in readable)
        for number, (_, until) in waiting.items()
        if number in readable or until <= now
    ]


def said(link: socket.socket, seconds: float) -> Steps[tuple[dict[str, Any], list[Block]]]:
    """The next message; raises `Late`, or `protocol.Closed` where the other side is gone."""
    until = time.monotonic() + seconds
    readable = yield Wait(link, seconds)
    if not readable:
        raise Late
    link.settimeout(max(0.1, until - time.monotonic()))
    try:
        return protocol.receive(link)
    except TimeoutError:
        raise Late from None


def signal_name(status: int) -> str:
    """ "SIGSEGV", or "exit status 3", from a status of `waitpid`."""
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.waitstatus_to_exitcode(status)}"


# --------------------------------------------------------------------------------------- zygote
@dataclass
class Zygote:
    """The process of an environment that forks workers. `folder` holds what outlives a pool."""

    environment: Environment
    process: subprocess.Popen[bytes]
    link: socket.socket
    log: Path
    versions: Mapping[str, str] = field(default_factory=dict)
    import_seconds: float = 0.0

    @staticmethod
    def start(environment: Environment, *, scratch: Path, keep: Path) -> Steps[Zygote]:
        """Import the framework; `BadInput` where it does not, `ZygoteDied` where it was killed."""
        ours, theirs = socket.socketpair()
        log = scratch / f"zygote-{environment.framework}.log"
        thing = f"environment {environment.name}"
        with theirs, log.open("wb") as output:
            try:
                process = subprocess.Popen(
                    [
                        environment.interpreter,
                        "-I",
                        str(_ENTRY),
                        environment.framework,
                        str(theirs.fileno()),
                        str(keep),
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=scratch,
                    env={**os.environ, **process_variables()},
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                seen = f"{environment.interpreter}: {error.strerror}"
                raise BadInput(thing, seen=seen, expected="a Python interpreter") from error
        zygote = Zygote(environment, process, ours, log)
        try:
            message, _ = yield from said(ours, _IMPORT_SECONDS)
        except (Late, protocol.Closed) as error:
            killed = isinstance(error, protocol.Closed) and zygote.was_killed()
            zygote.stop()
            if killed:
                raise ZygoteDied(f"the zygote of {environment.name} was killed") from error
            last = (log.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
            seen = f"{environment.interpreter} died or hung at import: {last}"
            raise BadInput(
                thing, seen=seen, expected=f"{environment.framework} to import"
            ) from error
        except BaseException:
            zygote.stop()
            raise
        zygote.versions = message["versions"]
        zygote.import_seconds = message["seconds"]
        return zygote

    def ask(self, message: dict[str, Any], *, give: socket.socket | None = None) -> Steps[Any]:
        """One request and its answer; raises `ZygoteDied`."""
        try:
            if give is None:
                self.link.sendall(b"-")
            else:
                socket.send_fds(self.link, [b"F"], [give.fileno()])
            protocol.send(self.link, message)
            answer, _ = yield from said(self.link, _CONTROL_SECONDS)
        except (Late, protocol.Closed, BrokenPipeError, ConnectionResetError) as error:
            raise ZygoteDied(f"the zygote of {self.environment.name} is gone") from error
        return answer

    def fork(self, folder: Path, address_space: int) -> Steps[Worker]:
        """A new worker, working in a folder of its own."""
        ours, theirs = socket.socketpair()
        with theirs:
            message = {"kind": "fork", "folder": str(folder), "address_space": address_space}
            try:
                answer = yield from self.ask(message, give=theirs)
            except BaseException:
                ours.close()
                raise
        return Worker(self, answer["pid"], ours, folder)

    def was_killed(self) -> bool:
        """Whether it ended by a SIGKILL that was not ours."""
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(1) == -signal.SIGKILL
        return False

    def stop(self) -> None:
        """Close the control socket, at which the zygote kills its workers and leaves."""
        self.link.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# ------------------------------------------------------------------------------------- patience
class _Patience:
    """Tells a worker that hangs from one that a busy machine keeps from computing.

    A deadlock uses no processor time; a loop without end has used all its time soon enough.
    """

    def __init__(self, group: int, seconds: float) -> None:
        self.group = group
        self.seconds = seconds
        self.began = time.monotonic()
        # Between cases the worker is the only process of its group; to ask for it alone is quick.
        self.first = self.last = _cpu_ticks(Path("/proc") / str(group), group) / _TICKS

    def is_left(self) -> bool:
        """Whether to wait for another slice."""
        now = group_cpu_seconds(self.group)
        advanced, self.last = now - self.last, now
        return (
            advanced > _SLICE / 100
            and now - self.first < self.seconds
            and time.monotonic() - self.began < _MOST_PATIENCE * self.seconds
        )


def group_cpu_seconds(group: int) -> float:
    """Processor time of a process group so far: of its processes and of their ended children."""
    return sum(_cpu_ticks(entry, group) for entry in Path("/proc").glob("[0-9]*")) / _TICKS


def _cpu_ticks(process: Path, group: int) -> int:
    """Ticks of a process and its ended children; 0 where it is of another group, or gone."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15])) if int(fields[2]) == group else 0


# --------------------------------------------------------------------------------------- worker
@dataclass
class Worker:
    """A forked worker. The zygote keeps its process id until `reap`."""

    zygote: Zygote
    pid: int
    link: socket.socket
    folder: Path
    cases: int = 0
    first_rss: int = 0
    phase: str = "start"

    def ask(
        self, message: dict[str, Any], blocks: Sequence[Block], *, seconds: float
    ) -> Steps[tuple[dict[str, Any], list[Block]]]:
        """The final answer to a request; raises `Late` or `protocol.Closed`.

        `seconds` of waiting, and more as long as the worker is kept from computing by a busy
        machine: while it and what it started advance, but have computed less than that.
        """
        until = time.monotonic() + seconds
        patience = _Patience(self.pid, seconds)
        self.phase = "start"
        self.link.settimeout(seconds)
        try:
            protocol.send(self.link, message, blocks)
        except TimeoutError:
            raise Late from None
        while True:
            try:
                answer, arrays = yield from said(self.link, until - time.monotonic())
            except Late:
                if not patience.is_left():
                    raise
                until = time.monotonic() + _SLICE
                continue
            if "phase" not in answer:
                return answer, arrays
            self.phase = answer["phase"]

    def point(self) -> None:
        """Have a hanging worker write the Python line it is at to its error stream."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR2)
        time.sleep(0.1)

    def reap(self, *, kill: bool) -> Steps[int]:
        """The status of `waitpid`, after a kill or after it died by itself; raises `ZygoteDied`."""
        self.link.close()
        try:
            answer = yield from self.zygote.ask({"kind": "reap", "pid": self.pid, "kill": kill})
        except ZygoteDied:
            self.kill_group()
            raise
        return int(answer["status"])

    def kill_group(self) -> None:
        """Kill what the worker had started; the kernel has killed the worker with its zygote."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    @property
    def written(self) -> int:
        """Bytes in the error stream so far."""
        path = self.folder / "stderr"
        return path.stat().st_size if path.exists() else 0

    def tail(self, start: int) -> str:
        """The end of what was written to the error stream since `start`."""
        path = self.folder / "stderr"
        if not path.exists():
            return ""
        with path.open("rb") as file:
            file.seek(max(start, path.stat().st_size - _TAIL))
            return file.read().decode(errors="replace")
