"""`manage.py up` as a person starts it: a process on a storage folder and a port of its own.

The interpreters are programs that cannot import anything, so that no framework is needed: what is
tested here is the house, and that it says what is wrong.
"""

from __future__ import annotations

import http.cookiejar
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.quality.kill_storm import kind_of, processes

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds; on a busy machine a start takes a while


@dataclass
class Up:
    """A running `up`; what it said so far is in `said`."""

    var: Path
    address: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until it said something that matches."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            found = re.search(pattern, self.said)
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise AssertionError(f"{pattern!r} was not said:\n{self.said}")

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def start(var: Path, address: str, *arguments: str, log: str = "up.log") -> Up:
    """Start `up`; its words go to a new log."""
    with (var / log).open("wb") as words:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up", *arguments],
            cwd=ROOT,
            env={
                **{name: one for name, one in os.environ.items() if "_URL" not in name},
                "FLOWMUT_VAR_DIR": str(var),
                "FLOWMUT_BIND": address,
                "FLOWMUT_WORKER_PROCESSES": "1",
                "FLOWMUT_TORCH_PYTHON": "/bin/false",
                "FLOWMUT_MINDSPORE_PYTHON": "/bin/false",
                "DJANGO_SETTINGS_MODULE": "flowmut_web.settings",
            },
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Up(var, address, process, var / log)


@pytest.fixture
def address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture
def var() -> Iterator[Path]:
    """A storage folder; what still runs on it afterwards is killed, so that tests stay apart."""
    folder = Path(tempfile.mkdtemp(prefix="flowmut-up-"))
    yield folder
    for pid in processes(folder):
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _left(var: Path) -> list[str]:
    """What still runs, after the moment that dying takes."""
    until = time.monotonic() + 10
    while processes(var) and time.monotonic() < until:
        time.sleep(0.2)
    return [one.command for one in processes(var).values()]


def _log_in(address: str, password: str) -> str:
    """Log in as a browser does; the address one is sent to."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    page = f"http://{address}/account/login/"
    with browser.open(page) as answer:
        answer.read()
    token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
    form = {"username": "admin", "password": password, "csrfmiddlewaretoken": token}
    with browser.open(page, urllib.parse.urlencode(form).encode()) as answer:
        found: str = answer.url
        return found


def test_first_start_second_start_and_stop(var: Path, address: str) -> None:
    first = start(var, address)
    password = first.wait_for(r"Log in as admin with the password (\S+)")[1]
    with urllib.request.urlopen(f"http://{address}/health/") as answer:
        assert answer.read() == b"ok\n"
    assert _log_in(address, password) == f"http://{address}/"
    assert "torch: cannot be used: environment torch: saw /bin/false" in first.said
    assert re.search(r"First campaign: 14 models, 20 rounds each, random seed \d+", first.said)
    assert first.stop() == 0
    assert _left(var) == []
    assert "Stopped" in first.said

    second = start(var, address)
    second.wait_for("Ready: ")
    assert "password" not in second.said, "it is printed once"
    assert "First campaign" not in second.said
    assert _log_in(address, password) == f"http://{address}/"
    assert second.stop(signal.SIGTERM) == 0
    assert _left(var) == []


def test_port_in_use_is_named_before_anything_starts(var: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = start(var, address)
        assert refused.process.wait(PATIENCE) == 1
    assert f"FLOWMUT_BIND: saw '{address}', expected a free address" in refused.said
    assert not (var / "logs").exists()


def test_it_tends_its_processes_and_leaves_none_when_killed(var: Path, address: str) -> None:
    running = start(var, address, "--no-campaign")
    running.wait_for("Ready: ")
    assert "First campaign" not in running.said
    for kind, name in (("web", "web"), ("celery main", "worker 1")):
        os.kill(_main_process(running, kind), signal.SIGKILL)
        running.wait_for(rf"{name} ended \(SIGKILL\)")
        running.wait_for(f"{name} started again")

    second = start(var, "127.0.0.1:1", log="second.log")
    assert second.process.wait(PATIENCE) == 1
    assert "It is running already" in second.said

    assert running.stop(signal.SIGKILL) == -signal.SIGKILL
    until = time.monotonic() + PATIENCE
    while processes(var) and time.monotonic() < until:
        time.sleep(0.5)
    assert _left(var) == []


def _main_process(running: Up, kind: str) -> int:
    """The process of that kind that `up` itself started."""
    every = processes(running.var)
    (found,) = [
        one.pid
        for one in every.values()
        if kind_of(one, every) == kind and one.parent == running.process.pid
    ]
    return found
