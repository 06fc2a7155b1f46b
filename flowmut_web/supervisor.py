"""Keeps the product's processes running: starts them, starts again what died, stops all of it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from flowmut_web.storage import make_folder

__all__ = [
    "LONGEST_PAUSE",
    "STOP_SECONDS",
    "Service",
    "make_services",
    "stop_all",
    "web_command",
    "worker_commands",
]

STOP_SECONDS = 20.0
LONGEST_PAUSE = 30.0
_STEADY_SECONDS = 60.0  # who ran for so long is not in a loop of dying
_LOG_BYTES = 5_000_000
_PR_SET_PDEATHSIG = 1


def web_command(bind: str) -> list[str]:
    """Two processes with threads: one slow page does not hold up the others."""
    arguments = ["--worker-class", "gthread", "--workers", "2", "--threads", "8", "--bind", bind]
    limits = ["--graceful-timeout", "3", "--timeout", "60", "--preload", "--no-control-socket"]
    return [sys.executable, "-m", "gunicorn", "flowmut_web.wsgi", *arguments, *limits]


def worker_commands(processes: int, *, broker: str) -> dict[str, list[str]]:
    """By name, workers that together run so many shards side by side.

    With a server as broker one worker forks them. Over a broker of files such children share one
    pipe and its lock, which is lost with a child that is killed while it waits: there each worker
    is one process.
    """
    celery = [sys.executable, "-m", "celery", "--app", "flowmut_web", "worker"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    if urlsplit(broker).scheme == "filesystem":
        pools = {f"worker {number}": ["--pool", "solo"] for number in range(1, processes + 1)}
    else:
        pools = {"worker": ["--pool", "prefork", "--concurrency", str(processes)]}
    return {
        name: [*celery, *pool, "--hostname", f"{name.replace(' ', '-')}-{os.getpid()}@%h", *quiet]
        for name, pool in pools.items()
    }


@dataclass
class Service:
    """A process that is to run until told otherwise, in a process group of its own."""

    name: str
    command: Sequence[str]
    log: Path
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    _pause: float = 1.0
    _started: float = 0.0
    _due: float = field(default=0.0)

    def start(self) -> None:
        """Start it; what it prints goes to its log."""
        _rotate(self.log)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=_TiedTo(os.getpid()),
            )
        self._started, self._due = time.monotonic(), 0.0

    def tend(self) -> str:
        """Start it again where it died, after a pause that grows; what happened, for a person."""
        now = time.monotonic()
        if self._due:
            if now >= self._due:
                self.start()
                return f"{self.name} started again"
            return ""
        if self.process is None or self.process.poll() is None:
            return ""
        self.kill_group()  # what it left behind
        self._pause = (
            1.0 if now - self._started > _STEADY_SECONDS else min(LONGEST_PAUSE, 2 * self._pause)
        )
        self._due = now + self._pause
        return (
            f"{self.name} ended ({_ending(self.process.returncode)}); "
            f"again in {self._pause:.0f} s, its log is {self.log}"
        )

    def ask_to_stop(self) -> None:
        """SIGTERM to the main process alone, which stops its children in good order."""
        self._due = 0.0
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def kill_group(self) -> None:
        """SIGKILL to whatever is left of its process group."""
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)


def make_services(commands: Mapping[str, Sequence[str]]) -> list[Service]:
    """A service for each command, with a log of its name in the storage folder."""
    logs = make_folder(settings.VAR_DIR / "logs")
    return [
        Service(name, command, logs / f"{name.replace(' ', '-')}.log", settings.BASE_DIR)
        for name, command in commands.items()
    ]


def stop_all(services: Sequence[Service], *, seconds: float = STOP_SECONDS) -> list[str]:
    """Stop them side by side; the names of those that had to be killed."""
    for service in services:
        service.ask_to_stop()
    until = time.monotonic() + seconds
    killed = []
    for service in services:
        if service.process is None:
            continue
        try:
            service.process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            killed.append(service.name)
        service.kill_group()
        service.process.wait()
    return killed


class _TiedTo:
    """Runs in the new process: the kernel sends it SIGTERM when the process that made it dies."""

    def __init__(self, parent: int) -> None:
        self.parent = parent
        self.prctl = ctypes.CDLL(None).prctl  # found before the fork

    def __call__(self) -> None:
        self.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != self.parent:
            os._exit(1)


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _rotate(log: Path) -> None:
    """Keep one older log, so that neither grows without end."""
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
