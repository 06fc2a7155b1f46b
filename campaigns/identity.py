"""The name of a worker process, by which others on its machine can tell that it is gone.

A lease runs out thirty seconds after its owner died. On the owner's own machine there is no need to
wait: the name says which process it was, exactly.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

__all__ = ["is_gone", "worker_name"]

_NAME = re.compile(r"(?P<place>.+):(?P<pid>\d+)\.(?P<start>[0-9a-f]+)")


def worker_name() -> str:
    """Host, space of process ids (a container has its own), id, and when it started."""
    pid = os.getpid()
    return f"{_place()}:{pid}.{_start(pid):x}"


def is_gone(name: str) -> bool:
    """Whether it is a process of this machine that no longer lives; False where we cannot tell."""
    found = _NAME.fullmatch(name)
    if found is None or found["place"] != _place():
        return False
    try:
        return _start(int(found["pid"])) != int(found["start"], 16)
    except (FileNotFoundError, ProcessLookupError):
        return True


def _place() -> str:
    space = re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink()))
    return f"{socket.gethostname()[:60]}-{int(space) & 0xFFFF:x}"


def _start(pid: int) -> int:
    """Clock ticks from the start of the machine to that of the process."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[19])
