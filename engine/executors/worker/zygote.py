"""The process that has the framework imported and forks a worker on demand. It computes nothing.

After the first operator a fork of the process hangs, in both frameworks (their thread pools do
not survive it), so the zygote imports, sets one thread, and waits. It dies with the process that
started it: at end of file on the control socket, or by the kernel's signal on the death of the
parent; in either case it first kills its workers with all that they started (compilers).

Requests on the control socket, each with one answer:

    {"kind": "fork", "folder", "address_space"}  + the worker's socket -> {"pid": ...}
    {"kind": "reap", "pid", "kill": bool}                              -> {"status": waitpid status}
    {"kind": "warm", "folder"}                                         -> {"isa": ...} (torch)
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from typing import Any

from . import protocol

__all__ = ["FRAMEWORKS", "main"]

FRAMEWORKS = {"torch": "torch_worker", "mindspore": "mindspore_worker"}
_PR_SET_PDEATHSIG = 1
_NICE = 5


def main(framework: str, control: int, keep: str) -> None:
    """Import the framework, say which versions it has, and serve until the parent is gone.

    `keep`: a folder that outlives us, for what takes long to build (inductor's precompiled header,
    which goes into the temporary folder of the process that imports inductor).
    """
    parent = os.getppid()
    _die_with_parent(signal.SIGUSR1)
    children: set[int] = set()

    def parent_may_be_dead(*_: object) -> None:
        # The kernel also sends this when only the *thread* that started us ended.
        if os.getppid() != parent:
            _leave(children)

    signal.signal(signal.SIGUSR1, parent_may_be_dead)
    signal.signal(signal.SIGTERM, lambda *_: _leave(children))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = socket.socket(fileno=control)
    started = time.perf_counter()
    _use_temporary(keep)
    worker = importlib.import_module(f".{FRAMEWORKS[framework]}", __package__)
    versions = worker.load()
    gc.collect()
    gc.freeze()
    try:
        protocol.send(
            link,
            {"ready": True, "versions": versions, "seconds": time.perf_counter() - started},
        )
        while True:
            _serve(link, worker, children)
    except protocol.Closed:
        _leave(children)


def _serve(link: socket.socket, worker: Any, children: set[int]) -> None:
    select.select([link], [], [])
    request, descriptors = _request(link)
    if request["kind"] == "fork":
        pid = os.fork()
        if pid == 0:
            _become_worker(link, descriptors[0], worker, request)
        os.close(descriptors[0])
        children.add(pid)
        protocol.send(link, {"pid": pid})
    elif request["kind"] == "reap":
        pid = request["pid"]
        if request["kill"]:
            _kill(pid)
        # Before the process id is given back: what the worker had started outlives it otherwise.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        _kill(pid)
        _, status = os.waitpid(pid, 0)
        children.discard(pid)
        protocol.send(link, {"status": status})
    elif request["kind"] == "warm":
        protocol.send(link, worker.warm(request["folder"]))


def _request(link: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A request and the descriptors sent ahead of it on one byte (b"F") or none (b"-")."""
    mark, descriptors, _, _ = socket.recv_fds(link, 1, 1)
    if not mark:
        raise protocol.Closed("the parent closed the control socket")
    message, _ = protocol.receive(link)
    return message, list(descriptors)


def _become_worker(link: socket.socket, channel: int, worker: Any, request: dict[str, Any]) -> None:
    """Never returns: what a forked child does with the rest of its life."""
    code = 1
    try:
        zygote = os.getppid()
        _die_with_parent(signal.SIGKILL)
        if os.getppid() != zygote:
            os._exit(1)
        os.setsid()
        for number in (signal.SIGUSR1, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        link.close()
        _settle(request)
        from . import session

        session.serve(socket.socket(fileno=channel), worker)
        code = 0
    except BaseException:  # noqa: BLE001 - the child must not return into the zygote's loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _settle(request: dict[str, Any]) -> None:
    """Working folder, error stream, limits and priority of a worker."""
    folder = request["folder"]
    os.chdir(folder)
    _use_temporary(folder)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")  # noqa: PTH118
    log = os.open(
        os.path.join(folder, "stderr"),  # noqa: PTH118 - pathlib is slower to no end here
        os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        0o600,
    )
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request["address_space"]:
        limit = int(request["address_space"])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # A native crash and a hang (SIGUSR2 from the pool) leave the Python line in the error stream.
    faulthandler.enable(2)
    faulthandler.register(signal.SIGUSR2, 2)


def _use_temporary(folder: str) -> None:
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None


def _kill(pid: int) -> None:
    """Kill a worker and its process group (it leads one of its own)."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def _leave(children: set[int]) -> None:
    for pid in children:
        _kill(pid)
    os._exit(0)


def _die_with_parent(number: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
